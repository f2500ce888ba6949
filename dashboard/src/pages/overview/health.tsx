// Whether callbacks arrive, endpoint by endpoint, the worst first.
import { everyItem, useRead } from '../../app/resource';
import { may, partnerId } from '../../app/session';
import { duration } from '../../lib/dates';
import { Decimal } from '../../lib/decimal';
import { get, path, post } from '../../lib/http';
import type { App, Endpoint, Endpoints } from '../../lib/types';
import {
  Badge,
  Button,
  Card,
  Empty,
  LinkButton,
  Loading,
  ProblemNotice,
  Time,
  type Tone,
} from '../../ui/basics';
import { useSending } from '../../ui/forms';
import { count } from '../../ui/money';
import { Table } from '../../ui/table';

export const endpointStates: Record<
  Endpoint['State'],
  { tone: Tone; title: string; rank: number }
> = {
  disabled: { tone: 'bad', title: 'Disabled after 410s', rank: 0 },
  suspended: { tone: 'bad', title: 'Down', rank: 1 },
  host_down: { tone: 'bad', title: 'Host is down', rank: 1 },
  paused: { tone: 'warn', title: 'Asked to wait', rank: 2 },
  app_disabled: { tone: 'warn', title: 'App is off', rank: 4 },
  open: { tone: 'good', title: 'Healthy', rank: 5 },
  not_configured: { tone: 'plain', title: 'No URL', rank: 6 },
};

export const endpointNames: Record<Endpoint['Endpoint'], string> = {
  success: 'Success',
  failure: 'Failure',
  offer: 'Offers',
};

interface Row extends Endpoint {
  app: App;
}

export function failureShare(endpoint: Endpoint): Decimal | null {
  const all = endpoint.Succeeded24h + endpoint.Failed24h;
  return Decimal.of(endpoint.Failed24h * 100).dividedBy(Decimal.of(all), 1);
}

export function stateOf(endpoint: Endpoint): { tone: Tone; title: string; rank: number } {
  const state = endpointStates[endpoint.State];
  if (endpoint.State === 'open' && endpoint.Failed1h > endpoint.Succeeded1h)
    return { tone: 'warn', title: 'Failing', rank: 3 };
  return state;
}

const appsShownMost = 20;

async function readHealth(signal: AbortSignal): Promise<Row[]> {
  const apps = await everyItem<App>(path`/api/v1/partners/${partnerId()}/apps`, {}, signal);
  const found = await Promise.all(
    apps.slice(0, appsShownMost).map(async app => {
      const { Endpoints: all } = await get<Endpoints>(
        path`/api/v1/apps/${app.AppId}/endpoints`,
        {},
        signal,
      );
      return all.map(endpoint => ({ ...endpoint, app }));
    }),
  );
  return found
    .flat()
    .filter(row => row.State !== 'not_configured')
    .sort((a, b) => stateOf(a).rank - stateOf(b).rank || b.Failed24h - a.Failed24h);
}

/** Sends again what waits for an endpoint that answered 410 to five callbacks in a row. */
function EnableEndpoint({ row, reload }: { row: Row; reload: () => void }) {
  const sending = useSending();
  const enable = () =>
    sending.run(async () => {
      await post(path`/api/v1/apps/${row.app.AppId}/endpoints/${row.Endpoint}/enable`);
      reload();
    });
  return (
    <>
      <Button size="small" busy={sending.busy} onClick={enable}>
        Enable
      </Button>
      <ProblemNotice problem={sending.problem} />
    </>
  );
}

interface HealthRows {
  rows: Row[];
  reload: () => void;
}

function HealthTable({ label, rows, reload }: HealthRows & { label: string }) {
  return (
    <Table
      label={label}
      rows={rows}
      rowKey={row => `${row.app.AppId} ${row.Endpoint}`}
      columns={[
        {
          title: 'Endpoint',
          cell: row => (
            <a
              href={path`/apps/${row.app.AppId}/${row.Endpoint === 'offer' ? 'callback' : 'postback'}`}
            >
              {row.app.Name || row.app.AppId} · {endpointNames[row.Endpoint]}
            </a>
          ),
        },
        {
          title: 'State',
          tight: true,
          cell: row => (
            <>
              <Badge tone={stateOf(row).tone}>{stateOf(row).title}</Badge>{' '}
              {row.State === 'disabled' && may('apps:write') && (
                <EnableEndpoint row={row} reload={reload} />
              )}
            </>
          ),
        },
        { title: 'Waiting', right: true, cell: row => count(row.Waiting) },
        { title: 'Delivered, 24 h', right: true, cell: row => count(row.Succeeded24h) },
        {
          title: 'Failed, 24 h',
          right: true,
          cell: row =>
            `${count(row.Failed24h)}${row.Failed24h ? ` (${failureShare(row)?.format(1)} %)` : ''}`,
        },
        {
          title: 'p95',
          right: true,
          cell: row => (row.LatencyP95Ms ? duration(row.LatencyP95Ms) : '–'),
        },
        {
          title: 'Last error',
          cell: row =>
            row.LastError ? (
              <>
                <div>{row.LastError.Detail}</div>
                <div class="small quiet">
                  <Time at={row.LastError.At} short ago />
                </div>
              </>
            ) : (
              <span class="quiet">None</span>
            ),
        },
      ]}
    />
  );
}

/** Those that need somebody stand in the open; the healthy ones are counted. */
function Health({ rows, reload }: HealthRows) {
  const isHealthy = (row: Row) => stateOf(row).tone === 'good';
  const sick = rows.filter(row => !isHealthy(row));
  const healthy = rows.filter(isHealthy);
  const all = healthy.length === 1 ? '1 is healthy' : `${healthy.length} are healthy`;
  return (
    <>
      {sick.length > 0 && <HealthTable label="Endpoints" rows={sick} reload={reload} />}
      {healthy.length > 0 && (
        <details class="fold-rows">
          <summary>
            {sick.length ? all : <Badge tone="good">All {healthy.length} are healthy</Badge>}
          </summary>
          <HealthTable label="Healthy endpoints" rows={healthy} reload={reload} />
        </details>
      )}
    </>
  );
}

export function HealthCard() {
  const readable = may('apps:read') && may('callbacks:read');
  const { data, problem, reload } = useRead(readable ? `health ${partnerId()}` : null, readHealth, {
    everyMs: 10_000,
  });
  if (!readable) return null;
  return (
    <Card
      title="Endpoints"
      text="How your callback URLs do; the ones that need you come first."
      flush
    >
      <ProblemNotice problem={problem} retry={reload} />
      {!data && !problem && <Loading />}
      {data && !data.length && (
        <Empty
          title="No callback URL yet"
          action={<LinkButton href="/apps">Choose an app</LinkButton>}
        >
          Callbacks are sent as soon as an app has a URL for them.
        </Empty>
      )}
      {data && data.length > 0 && <Health rows={data} reload={reload} />}
    </Card>
  );
}
