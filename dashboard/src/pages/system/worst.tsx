// The endpoints that somebody should look at, of all partners.
import { duration } from '../../lib/dates';
import { Decimal } from '../../lib/decimal';
import { path } from '../../lib/http';
import type { Endpoint, EndpointHealth, System } from '../../lib/types';
import { Card, Empty, Time } from '../../ui/basics';
import { endpointNames, HealthBadge, healthWords, tabOf } from '../../ui/health';
import { count } from '../../ui/money';
import { Table } from '../../ui/table';

type Worst = System['WorstEndpoints'][number];

function Drain({ endpoint }: { endpoint: Endpoint }) {
  if (endpoint.Waiting === 0) return <span class="quiet">–</span>;
  if (endpoint.DrainSeconds === null) return <span>not draining</span>;
  return <span>{duration(endpoint.DrainSeconds * 1000)}</span>;
}

function LastError({ endpoint }: { endpoint: Endpoint }) {
  const error = endpoint.LastError;
  if (!error) return <span class="quiet">None</span>;
  return (
    <>
      <div>{error.Detail}</div>
      <div class="small quiet">Tell the partner: {error.Fix}</div>
      <div class="small quiet">
        <Time at={error.At} short ago />
      </div>
    </>
  );
}

function states(system: System): string {
  const said = Object.entries(system.EndpointStates)
    .filter(([, n]) => n > 0)
    .map(([name, n]) => `${count(n)} ${healthWords[name as EndpointHealth].title.toLowerCase()}`);
  return `In memory: ${said.join(', ') || 'none'}.`;
}

export function WorstCard({ system }: { system: System }) {
  return (
    <Card title="Worst endpoints" text={states(system)} flush>
      {system.WorstEndpoints.length === 0 ? (
        <Empty title="All endpoints are healthy">
          Endpoints that fail, are not draining or fall behind are listed here, with what to tell
          the partner.
        </Empty>
      ) : (
        <Table<Worst>
          label="Worst endpoints"
          rows={system.WorstEndpoints}
          rowKey={row => `${row.AppId} ${row.Endpoint.Endpoint}`}
          columns={[
            {
              title: 'Endpoint',
              cell: ({ PartnerId, AppId, Endpoint: endpoint }) => (
                <>
                  <a href={path`/partners/${PartnerId}/apps/${AppId}/${tabOf(endpoint.Endpoint)}`}>
                    {AppId} · {endpointNames[endpoint.Endpoint]}
                  </a>
                  <div class="small">
                    <a href={path`/partners/${PartnerId}`}>{PartnerId}</a>
                  </div>
                </>
              ),
            },
            {
              title: 'State',
              cell: ({ Endpoint: endpoint }) => (
                <>
                  <HealthBadge health={endpoint.Health} />
                  {endpoint.Since && (
                    <div class="small quiet">
                      since <Time at={endpoint.Since} short />
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
              title: 'Drains in',
              right: true,
              tight: true,
              cell: row => <Drain endpoint={row.Endpoint} />,
            },
            {
              title: 'Failed, 1 h',
              right: true,
              tight: true,
              cell: ({ Endpoint: e }) =>
                `${count(e.Failed1h)} of ${count(e.Failed1h + e.Succeeded1h)}`,
            },
            { title: 'Last error', cell: row => <LastError endpoint={row.Endpoint} /> },
          ]}
        />
      )}
    </Card>
  );
}
