// Whether callbacks arrive: every endpoint is counted, those that are not healthy are shown.
import { useResource } from '../../app/resource';
import { may } from '../../app/session';
import { duration } from '../../lib/dates';
import { Decimal } from '../../lib/decimal';
import { path, post } from '../../lib/http';
import type { AccountEndpoints, Endpoint, UnhealthyEndpoint } from '../../lib/types';
import {
  Badge,
  Button,
  Card,
  Empty,
  LinkButton,
  Loading,
  Notice,
  ProblemNotice,
  Time,
} from '../../ui/basics';
import { useSending } from '../../ui/forms';
import { EndpointLink, HealthBadge } from '../../ui/health';
import { count, countOf } from '../../ui/money';
import { Table } from '../../ui/table';

function failureShare(endpoint: Endpoint): Decimal | null {
  const all = endpoint.Succeeded24h + endpoint.Failed24h;
  return Decimal.of(endpoint.Failed24h * 100).dividedBy(Decimal.of(all), 1);
}

/** Sends again what waits for an endpoint that answered 410 to five callbacks in a row. */
function EnableEndpoint({ row, reload }: { row: UnhealthyEndpoint; reload: () => void }) {
  const sending = useSending();
  const enable = () =>
    sending.run(async () => {
      await post(path`/api/v1/apps/${row.AppId}/endpoints/${row.Endpoint.Endpoint}/enable`);
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

interface HealthProps {
  health: AccountEndpoints;
  reload: () => void;
}

function HealthTable({ health, reload }: HealthProps) {
  return (
    <Table
      label="Endpoints"
      rows={health.NotHealthy}
      rowKey={row => `${row.AppId} ${row.Endpoint.Endpoint}`}
      columns={[
        {
          title: 'Endpoint',
          cell: row => <EndpointLink of={row} />,
        },
        {
          title: 'State',
          tight: true,
          cell: row => (
            <>
              <HealthBadge health={row.Endpoint.Health} />{' '}
              {row.Endpoint.Health === 'disabled' && may('apps:write') && (
                <EnableEndpoint row={row} reload={reload} />
              )}
              {row.Endpoint.Since && (
                <div class="small quiet">
                  since <Time at={row.Endpoint.Since} short ago />
                </div>
              )}
            </>
          ),
        },
        {
          title: 'Waiting',
          right: true,
          cell: row => count(row.Endpoint.Waiting),
          sort: row => Decimal.of(row.Endpoint.Waiting),
        },
        {
          title: 'Delivered, 24 h',
          right: true,
          cell: row => count(row.Endpoint.Succeeded24h),
          sort: row => Decimal.of(row.Endpoint.Succeeded24h),
        },
        {
          title: 'Failed, 24 h',
          right: true,
          sort: row => Decimal.of(row.Endpoint.Failed24h),
          cell: ({ Endpoint: e }) =>
            `${count(e.Failed24h)}${e.Failed24h ? ` (${failureShare(e)?.format(1)} %)` : ''}`,
        },
        {
          title: 'p95',
          right: true,
          sort: ({ Endpoint: e }) => Decimal.of(e.LatencyP95Ms ?? 0),
          cell: ({ Endpoint: e }) => (e.LatencyP95Ms ? duration(e.LatencyP95Ms) : '–'),
        },
        {
          title: 'Last error',
          cell: ({ Endpoint: e }) =>
            e.LastError ? (
              <>
                <div>{e.LastError.Detail}</div>
                <div class="small quiet">
                  <Time at={e.LastError.At} short ago />
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

/** How many there are, and how many of them are healthy. */
function Summary({ health }: { health: AccountEndpoints }) {
  const { not_configured: _, unknown, open, ...others } = health.States;
  const unhealthy = Object.values(others).reduce((sum, n) => sum + n, 0);
  const listed = health.NotHealthy.length;
  return (
    <div class="health-summary">
      {open > 0 && (
        <Badge tone={unhealthy || unknown ? 'plain' : 'good'}>
          {countOf(open, 'endpoint')}, healthy
        </Badge>
      )}{' '}
      {health.More && (
        <span class="quiet">
          Showing the {count(listed)} worst of {countOf(unhealthy, 'endpoint')} that are not
          healthy.
        </span>
      )}
      {unknown > 0 && (
        <Notice tone="warn" title={`${countOf(unknown, 'endpoint')}: health unknown`}>
          The server that delivers to them did not answer. Retrying automatically.
        </Notice>
      )}
    </div>
  );
}

export function HealthCard() {
  const readable = may('callbacks:read');
  const { data, problem, reload } = useResource<AccountEndpoints>(
    readable ? '/api/v1/endpoints' : null,
    {},
    { everyMs: 10_000 },
  );
  if (!readable) return null;
  const configured = data
    ? Object.values(data.States).reduce((sum, n) => sum + n, 0) - data.States.not_configured
    : 0;
  return (
    <Card
      title="Endpoints"
      text="Health of your callback URLs. Endpoints that need attention are listed first."
      flush
    >
      <ProblemNotice problem={problem} retry={reload} />
      {!data && !problem && <Loading />}
      {data && configured === 0 && (
        <Empty
          title="No callback URL yet"
          action={<LinkButton href="/apps">Choose an app</LinkButton>}
        >
          Callbacks are sent once an app has a URL for them.
        </Empty>
      )}
      {data && data.NotHealthy.length > 0 && <HealthTable health={data} reload={reload} />}
      {data && configured > 0 && <Summary health={data} />}
    </Card>
  );
}
