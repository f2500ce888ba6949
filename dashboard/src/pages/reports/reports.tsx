// The five reports: range, clients, product, test events; chart, comparison with the period before,
// table by day, week or month, and CSV.
import { useState } from 'preact/hooks';
import { useRead } from '../../app/resource';
import { address, query, setQuery } from '../../app/router';
import { partnerId, serverNow } from '../../app/session';
import { saveCsv } from '../../lib/csv';
import { addDays, dayOf, daysBetween } from '../../lib/dates';
import { Decimal } from '../../lib/decimal';
import { getText, type Query } from '../../lib/http';
import type { Client, Report, ReportRow } from '../../lib/types';
import {
  Button,
  Card,
  Choices,
  Empty,
  Loading,
  Notice,
  PageHead,
  ProblemNotice,
  Tabs,
  Time,
} from '../../ui/basics';
import { Chart } from '../../ui/chart';
import { FilterCard } from '../../ui/filters';
import { CheckField, SelectField, TextField, useSending } from '../../ui/forms';
import { Cents, Change, count, formatFor } from '../../ui/money';
import { Table, type Column } from '../../ui/table';
import {
  beginOf,
  byClient,
  compare,
  regroup,
  reportNames,
  reports,
  steps,
  together,
  valueOf,
  type Compared,
  type ReportName,
  type Step,
} from './data';
import { readPeriods, splits, useClients, type Divided, type Periods, type Split } from './read';

interface Asked {
  name: ReportName;
  query: Query;
  start: string;
  end: string;
  /** Every digit of amounts; else whole cents. */
  exact: boolean;
  step: Step;
  split: Split;
}

/** Null where the address has none, or what is no day. */
function dayGiven(name: string): string | null {
  const text = query.value.get(name) ?? '';
  return /^\d{4}-\d\d-\d\d$/.test(text) && Date.parse(text) ? text : null;
}

function asked(): Asked {
  const given = query.value.get('report') as ReportName | null;
  const name = given && reportNames.includes(given) ? given : 'earnings';
  const today = dayOf(serverNow());
  const end = dayGiven('endDate') ?? today;
  const start = dayGiven('startDate') ?? addDays(end, -29);
  const product = reports[name].byProduct ? query.value.get('productType') : null;
  const step = query.value.get('step') as Step | null;
  const split = query.value.get('split') as Split | null;
  const canSplit = split && split in splits && (split !== 'product' || reports[name].byProduct);
  const isLong = daysBetween(start, end).length > 92;
  return {
    name,
    step: step && steps.includes(step) ? step : isLong ? 'week' : 'day',
    split: canSplit ? split : 'client',
    start,
    end,
    exact: query.value.get('exact') === 'true',
    query: {
      startDate: start,
      endDate: end,
      clientIds: query.value.get('clientIds'),
      productType: product,
      includeTest: query.value.get('includeTest') === 'true' ? true : undefined,
    },
  };
}

const ranges = [
  { value: '1', title: 'Today' },
  { value: '7', title: '7 days' },
  { value: '30', title: '30 days' },
  { value: '90', title: '90 days' },
  { value: '365', title: 'Year' },
  { value: '', title: 'Other' },
] as const;

function ClientPicker({ value, clients }: { value: string; clients: Client[] | null }) {
  const [open, setOpen] = useState(false);
  const chosen = value ? value.split(',') : [];
  const isChoice = clients && clients.length > (chosen.length ? 0 : 1);
  if (!isChoice) return null;
  const toggle = (id: string, on: boolean) => {
    const next = on ? [...chosen, id] : chosen.filter(other => other !== id);
    setQuery({ clientIds: next.join(',') });
  };
  return (
    <details open={open} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>
        Clients: {chosen.length ? `${chosen.length} of ${clients.length}` : `all ${clients.length}`}
      </summary>
      <div class="grid-3">
        {clients.map(client => (
          <CheckField
            key={client.ClientId}
            label={client.ClientId}
            hint={client.Name && client.Name !== client.ClientId ? client.Name : undefined}
            checked={chosen.includes(client.ClientId)}
            onChange={on => toggle(client.ClientId, on)}
          />
        ))}
      </div>
    </details>
  );
}

function Filters({ ask, clients }: { ask: Asked; clients: Client[] | null }) {
  const today = dayOf(serverNow());
  const length = String(daysBetween(ask.start, ask.end).length);
  const range = ask.end === today ? (ranges.find(one => one.value === length)?.value ?? '') : '';
  return (
    <FilterCard set={range !== '30' || !!ask.query['clientIds']}>
      <Choices
        label="Range"
        value={range}
        items={ranges.filter(one => one.value !== '' || range === '')}
        onChange={days =>
          days && setQuery({ startDate: addDays(today, 1 - Number(days)), endDate: today })
        }
      />
      <div class="filters">
        <TextField
          label="From (UTC)"
          type="date"
          max={ask.end}
          value={ask.start}
          onChange={startDate => startDate && setQuery({ startDate })}
        />
        <TextField
          label="To (UTC)"
          type="date"
          min={ask.start}
          value={ask.end}
          onChange={endDate => endDate && setQuery({ endDate })}
        />
        <SelectField
          label="Rows by"
          value={ask.step}
          items={steps.map(value => ({ value, title: stepTitles[value] }))}
          onChange={step => setQuery({ step })}
        />
        <SelectField
          label="Split by"
          value={ask.split}
          items={(Object.keys(splits) as Split[])
            .filter(value => value !== 'product' || reports[ask.name].byProduct)
            .filter(value => value !== 'app' || clients !== null)
            .map(value => ({ value, title: splits[value] }))}
          onChange={split => setQuery({ split })}
        />
        {reports[ask.name].byProduct && (
          <SelectField
            label="Product"
            value={String(ask.query['productType'] ?? '')}
            items={[
              { value: '', title: 'Surveys and offers' },
              { value: 'survey', title: 'Surveys' },
              { value: 'offer', title: 'Offers' },
            ]}
            onChange={productType => setQuery({ productType })}
          />
        )}
        <CheckField
          label="Include test events"
          checked={ask.query['includeTest'] === true}
          onChange={on => setQuery({ includeTest: on ? 'true' : null })}
        />
        {reports[ask.name].money && (
          <CheckField
            label="Exact amounts"
            hint="All digits instead of whole cents."
            checked={ask.exact}
            onChange={on => setQuery({ exact: on ? 'true' : null })}
          />
        )}
      </div>
      <ClientPicker clients={clients} value={String(ask.query['clientIds'] ?? '')} />
    </FilterCard>
  );
}

function CsvButton({ ask }: { ask: Asked }) {
  const sending = useSending();
  const download = () =>
    sending.run(async () => {
      const text = await getText(
        `/api/v1/reports/${ask.name}`,
        { ...ask.query, format: 'csv' },
        'text/csv',
      );
      saveCsv(`${ask.name}_${ask.start}_${ask.end}.csv`, text);
    });
  return (
    <>
      <ProblemNotice problem={sending.problem} />
      <Button busy={sending.busy} onClick={download}>
        Download CSV
      </Button>
    </>
  );
}

const rowsShownMost = 40;
const stepTitles: Record<Step, string> = { day: 'Day', week: 'Week', month: 'Month' };

/** An amount as it is asked for, or a count. */
function Value({ value, money, exact }: { value: Decimal; money: boolean; exact: boolean }) {
  return money && !exact ? <Cents amount={value} /> : <>{formatFor(money, exact)(value)}</>;
}

interface ReportTableProps {
  ask: Asked;
  rows: ReportRow[];
  /** What totals are made of. */
  whole: ReportRow[];
}

/** Of days added up panelists are counted once a day. */
function totalName({ name, step }: Asked): string {
  return name === 'active-panelist' && step === 'day' ? 'Total (sum of days)' : 'Total';
}

function ReportTable({ ask, rows, whole }: ReportTableProps) {
  const { name, exact } = ask;
  const [shown, setShown] = useState(rowsShownMost);
  const kind = reports[name];
  const column = (title: string, field: typeof kind.field, money: boolean): Column<ReportRow> => {
    const print = (value: Decimal | null) =>
      value ? <Value value={value} money={money} exact={exact} /> : <span class="quiet">–</span>;
    return {
      title,
      right: true,
      cell: row => print(valueOf(row, field)),
      sort: row => valueOf(row, field),
      total: print(together(whole, field)),
    };
  };
  const columns: Column<ReportRow>[] = [
    {
      title: stepTitles[ask.step],
      cell: row => <span class="nowrap">{row.Day}</span>,
      sort: row => row.Day,
      total: totalName(ask),
    },
    { title: splits[ask.split], cell: row => row.ClientId, sort: row => row.ClientId },
  ];
  if (name === 'arpdau') {
    columns.push(column('Earnings', 'Earnings', true));
    columns.push(column('Active panelists', 'ActivePanelists', false));
  }
  columns.push(column(kind.title, kind.field, kind.money));
  return (
    <>
      <Table
        label={kind.title}
        rows={[...rows].reverse()}
        most={shown}
        rowKey={row => `${row.Day} ${row.ClientId}`}
        columns={columns}
      />
      {rows.length > shown && (
        <div class="table-foot">
          <span class="quiet">
            {count(shown)} of {count(rows.length)} rows. The CSV has every day and client.
          </span>
          <Button size="small" onClick={() => setShown(shown + 500)}>
            Show more
          </Button>
        </div>
      )}
    </>
  );
}

/** Each client, app or product in this period and in the one of the same length before it. */
function Comparison({ ask, now, then }: { ask: Asked; now: Divided; then: Divided }) {
  const kind = reports[ask.name];
  const print = (value: Decimal | null) =>
    value ? (
      <Value value={value} money={kind.money} exact={ask.exact} />
    ) : (
      <span class="quiet">–</span>
    );
  const all = { now: together(now.whole, kind.field), then: together(then.whole, kind.field) };
  const days = daysBetween(ask.start, ask.end).length;
  const columns: Column<Compared>[] = [
    {
      title: splits[ask.split],
      cell: row => row.name,
      sort: row => row.name,
      total: 'Total',
    },
    {
      title: kind.title,
      right: true,
      cell: row => print(row.now),
      sort: row => row.now,
      total: print(all.now),
    },
    {
      title: days === 1 ? 'The day before' : `The ${days} days before`,
      right: true,
      cell: row => print(row.then),
      sort: row => row.then,
      total: print(all.then),
    },
    {
      title: 'Change',
      right: true,
      cell: row => <Change now={row.now} then={row.then} />,
      sort: row => (row.now && row.then ? row.now.minus(row.then) : null),
      total: <Change now={all.now} then={all.then} />,
    },
  ];
  return (
    <Table
      label="Compared with the period before"
      rows={compare(now.rows, then.rows, kind.field)}
      rowKey={row => row.name}
      columns={columns}
    />
  );
}

function Warnings({ report }: { report: Report }) {
  if (!report.Warnings?.length) return null;
  const clients = report.Warnings.map(one => one.ClientId).join(', ');
  return (
    <Notice tone="warn" title={`Survey starts are missing: ${clients}`}>
      {report.Warnings[0]!.Detail}
    </Notice>
  );
}

interface BodyProps {
  ask: Asked;
  periods: Periods;
  clients: Client[] | null;
}

function ReportBody({ ask, periods, clients }: BodyProps) {
  const { report, now, before } = periods;
  const kind = reports[ask.name];
  const apps = new Map(clients?.map(one => [one.ClientId, one.AppId]));
  const nameOf = (row: ReportRow) =>
    ask.split === 'all'
      ? 'All'
      : ask.split === 'app'
        ? (apps.get(row.ClientId) ?? row.ClientId)
        : row.ClientId;
  const rows = regroup(now.rows, ask.step, nameOf);
  const days = [
    ...new Set(daysBetween(report.StartDate, report.EndDate).map(day => beginOf(ask.step, day))),
  ];
  const series = byClient(rows, kind.field, days);
  const includesToday = report.EndDate === dayOf(serverNow());
  const splitBy = ask.split === 'all' ? '' : ` and ${splits[ask.split].toLowerCase()}`;
  const total = together(now.whole, kind.field);
  if (!report.Rows.length) {
    return (
      <Card>
        <Empty
          title="Nothing in this range"
          action={
            <Button
              onClick={() =>
                setQuery({
                  startDate: null,
                  endDate: null,
                  clientIds: null,
                  productType: null,
                })
              }
            >
              Show the last 30 days of all clients
            </Button>
          }
        >
          There are no events for these days and clients. Test events count only when “Include test
          events” is on.
        </Empty>
      </Card>
    );
  }
  return (
    <>
      <Warnings report={report} />
      <Card
        title={kind.counts ? `${kind.title} (${kind.counts})` : kind.title}
        text={
          total && ask.name !== 'active-panelist' ? (
            <>
              <Value value={total} money={kind.money} exact={ask.exact} />{' '}
              {ask.name === 'arpdau' ? 'for all these days and clients' : 'in total'}, by {ask.step}
              {splitBy}
            </>
          ) : (
            `By ${ask.step}${splitBy}`
          )
        }
      >
        <Chart
          title={kind.title}
          days={days}
          series={series}
          kind={ask.name === 'arpdau' ? 'lines' : 'bars'}
          money={kind.money}
          exact={ask.exact}
          height={280}
          lastNote={includesToday ? 'so far' : undefined}
          step={ask.step}
        />
      </Card>
      <Card
        title="Compared with the period before"
        text={includesToday ? 'Today is not complete yet.' : undefined}
        flush
      >
        <Comparison
          ask={ask}
          now={{ ...now, rows }}
          then={{ ...before, rows: regroup(before.rows, 'day', nameOf) }}
        />
      </Card>
      <Card
        title="Rows"
        actions={
          <span class="quiet small">
            As of <Time at={report.GeneratedAt} short />
          </span>
        }
        flush
      >
        <ReportTable ask={ask} rows={rows} whole={now.whole} key={JSON.stringify(ask)} />
      </Card>
    </>
  );
}

export function ReportsPage() {
  const ask = asked();
  const clients = useClients();
  const { data, problem, loading, reload } = useRead<Periods>(
    JSON.stringify([ask, partnerId()]),
    signal => readPeriods(ask, signal),
    { everyMs: 60_000 },
  );
  const tab = (name: ReportName) => {
    const all = new URLSearchParams(query.value);
    all.set('report', name);
    return `${address.value.path}?${all.toString()}`;
  };
  return (
    <div class="page">
      <PageHead title="Reports" text={reports[ask.name].text}>
        <CsvButton ask={ask} />
      </PageHead>
      <Tabs
        label="Reports"
        items={reportNames.map(name => ({
          href: tab(name),
          title: reports[name].title,
          current: name === ask.name,
        }))}
      />
      <Filters ask={ask} clients={clients} />
      <ProblemNotice problem={problem} retry={reload} />
      {data ? (
        <ReportBody ask={ask} periods={data} clients={clients} />
      ) : (
        loading && !problem && <Loading what="Loading the report" />
      )}
    </div>
  );
}
