// Deliveries over time: successes and failures by class, and how long attempts took. One request
// for each card; the numbers stand in a table below the charts.
import { useResource } from '../../app/resource';
import { query, setQuery } from '../../app/router';
import { may } from '../../app/session';
import { duration } from '../../lib/dates';
import { Decimal } from '../../lib/decimal';
import type { Query } from '../../lib/http';
import type { DeliveryCounts, DeliveryStatistics } from '../../lib/types';
import { Card, Choices, Loading, ProblemNotice } from '../../ui/basics';
import { Chart, periodName, type Series, type Step } from '../../ui/chart';
import { count } from '../../ui/money';
import { Table } from '../../ui/table';
import { attempts, errorTitles } from '../callbacks/words';

const periods = [
  { value: '1h', title: '1 hour' },
  { value: '24h', title: '24 hours' },
  { value: '7d', title: '7 days' },
  { value: '30d', title: '30 days' },
] as const;
type Period = (typeof periods)[number]['value'];

const steps: Record<Period, Step> = {
  '1h': 'five minutes',
  '24h': 'hour',
  '7d': 'six hours',
  '30d': 'day',
};

const none: DeliveryCounts = {
  Succeeded: 0,
  Failed: 0,
  Failures: {},
  LatencyP50Ms: null,
  LatencyP95Ms: null,
};
const drawn = 4; // classes, the most frequent ones; the others are one

interface Point extends DeliveryCounts {
  at: string;
}

/** Every point of the period, those without attempts too. */
function pointsOf(read: DeliveryStatistics): Point[] {
  const known = new Map(read.Points.map(point => [Date.parse(point.From), point]));
  const points: Point[] = [];
  for (let ms = Date.parse(read.From); ms < Date.parse(read.To); ms += read.StepSeconds * 1000) {
    const at = new Date(ms).toISOString();
    points.push({ ...none, ...known.get(ms), at: read.Period === '30d' ? at.slice(0, 10) : at });
  }
  return points;
}

const number = (n: number | null) => (n === null ? null : Decimal.of(n));

function outcomes(read: DeliveryStatistics, points: Point[]): Series[] {
  const classes = Object.entries(read.Total.Failures)
    .sort(([, a], [, b]) => b - a)
    .map(([name]) => name);
  const sumOf = (names: string[]) =>
    points.map(point => Decimal.of(names.reduce((n, name) => n + (point.Failures[name] ?? 0), 0)));
  const others = classes.slice(drawn);
  return [
    { name: 'Delivered', values: points.map(point => Decimal.of(point.Succeeded)) },
    ...classes
      .slice(0, drawn)
      .map(name => ({ name: errorTitles[name] ?? name, values: sumOf([name]) })),
    ...(others.length ? [{ name: 'Other failures', values: sumOf(others) }] : []),
  ];
}

function Numbers({ label, points, step }: { label: string; points: Point[]; step: Step }) {
  const latency = (ms: number | null) => (ms === null ? '–' : duration(ms));
  return (
    <details>
      <summary>Numbers</summary>
      <Table
        label={label}
        rows={points.filter(point => point.Succeeded + point.Failed > 0)}
        rowKey={point => point.at}
        columns={[
          { title: 'From', cell: point => periodName(step, point.at) },
          { title: 'Delivered', right: true, cell: point => count(point.Succeeded) },
          { title: 'Failed', right: true, cell: point => count(point.Failed) },
          {
            title: 'Failures',
            cell: point =>
              Object.entries(point.Failures)
                .map(([name, n]) => `${errorTitles[name] ?? name}: ${count(n)}`)
                .join(', ') || '–',
          },
          { title: 'p50', right: true, cell: point => latency(point.LatencyP50Ms) },
          { title: 'p95', right: true, cell: point => latency(point.LatencyP95Ms) },
        ]}
      />
    </details>
  );
}

/** Attempts are counted in ranges of time, of which the first one ends at 10 ms. */
const within = (ms: number) => (ms > 10 ? `about ${duration(ms)}` : '10 ms or less');

function Charts({ title, read }: { title: string; read: DeliveryStatistics }) {
  const points = pointsOf(read);
  const shared = {
    days: points.map(point => point.at),
    step: steps[read.Period],
    money: false,
    lastNote: 'so far',
  };
  const { Succeeded, Failed, LatencyP50Ms, LatencyP95Ms } = read.Total;
  return (
    <>
      <p class="quiet small">
        {attempts(Succeeded)} delivered and {count(Failed)} failed
        {LatencyP50Ms !== null &&
          LatencyP95Ms !== null &&
          `; half ended within ${within(LatencyP50Ms)}, 95 of 100 within ${within(LatencyP95Ms)}`}
        . Times are UTC.
      </p>
      {Succeeded + Failed > 0 && (
        <>
          <div class="grid-2">
            <div class="failures">
              <h3>Attempts</h3>
              <Chart {...shared} title={title} series={outcomes(read, points)} kind="bars" />
            </div>
            <div>
              <h3>Latency in milliseconds</h3>
              <Chart
                {...shared}
                title={`${title}, latency`}
                series={[
                  { name: 'p50', values: points.map(point => number(point.LatencyP50Ms)) },
                  { name: 'p95', values: points.map(point => number(point.LatencyP95Ms)) },
                ]}
                kind="lines"
              />
            </div>
          </div>
          <Numbers label={`${title}, numbers`} points={points} step={shared.step} />
        </>
      )}
    </>
  );
}

/** of: the account, or with an app's path that app or one of its endpoints. */
export function DeliveriesCard(props: { title: string; of?: string; query?: Query }) {
  const asked = query.value.get('period');
  const period: Period = periods.find(one => one.value === asked)?.value ?? '24h';
  const { data, problem, reload } = useResource<DeliveryStatistics>(
    may('callbacks:read') ? `${props.of ?? '/api/v1'}/delivery-statistics` : null,
    { ...props.query, period },
    { everyMs: 60_000 },
  );
  if (!may('callbacks:read')) return null;
  return (
    <Card
      title={props.title}
      actions={
        <Choices
          label={`Period of ${props.title}`}
          value={period}
          items={periods}
          onChange={value => setQuery({ period: value === '24h' ? null : value })}
        />
      }
    >
      <ProblemNotice problem={problem} retry={reload} />
      {!data && !problem && <Loading />}
      {data && <Charts title={props.title} read={data} />}
    </Card>
  );
}
