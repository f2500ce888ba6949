// The databases that accounts are split over: where each one is, how full, and how a move of it goes.
import type { Cluster, ClusterMove } from '../../lib/types';
import { Badge, Card, Caution, type Tone } from '../../ui/basics';
import { count } from '../../ui/money';
import { Table } from '../../ui/table';
import { bytes, Meter } from './limits';

const states: Record<Cluster['State'], { tone: Tone; title: string }> = {
  in_use: { tone: 'good', title: 'In use' },
  away: { tone: 'bad', title: 'Away' },
  moving: { tone: 'info', title: 'Moving' },
  moved: { tone: 'info', title: 'Moved' },
};

const figure = (n: number | null, print = count) => (n === null ? '–' : print(n));

function stepText({ Bytes }: Cluster, move: ClusterMove): string {
  const other = move.Server ?? 'the other server';
  switch (move.Step) {
    case 'beginning':
      return `Making the tables on ${other}.`;
    case 'copying':
      return (
        `Copying to ${other}: ${figure(move.TablesCopied)} of ${figure(move.Tables)} tables, ` +
        `${figure(move.Bytes, bytes)} of about ${figure(Bytes, bytes)}.`
      );
    case 'following':
      return `All tables are copied to ${other}.${move.Running ? ' The switch comes next, without a command.' : ''}`;
    case 'switched':
      return `The old server ${other} is kept up to date. You can move back until postbackd move --finish.`;
    case 'unseen':
      return 'The other server does not answer, or is not in the cluster’s URI.';
  }
}

function Move({ cluster, move }: { cluster: Cluster; move: ClusterMove }) {
  const text = stepText(cluster, move);
  const ended = !move.Running && move.Step !== 'switched' && move.Step !== 'unseen';
  return (
    <>
      {move.Step === 'copying' && move.Bytes !== null && cluster.Bytes !== null ? (
        <Meter
          title={`Cluster ${cluster.Number}`}
          used={Math.min(move.Bytes, cluster.Bytes)}
          most={cluster.Bytes}
          of="copied"
          text={text}
        />
      ) : (
        <div class="small quiet">{text}</div>
      )}
      <div class="small quiet">Behind by {bytes(move.BehindBytes)} of changes.</div>
      {move.Errors > 0 && cluster.State === 'moving' && (
        <Caution>The replication had errors: see the log of the server that follows.</Caution>
      )}
      {ended && <Caution>The command has ended. Run the same postbackd move again.</Caution>}
    </>
  );
}

function State({ cluster }: { cluster: Cluster }) {
  const { tone, title } = states[cluster.State];
  return (
    <div class="stack-small">
      <div>
        <Badge tone={tone}>{title}</Badge>
      </div>
      {cluster.Move && <Move cluster={cluster} move={cluster.Move} />}
      {cluster.ShouldMove && (
        <Caution>
          Its server has much more data and events than the others. Move this cluster to a server of
          its own.
        </Caution>
      )}
    </div>
  );
}

export function ClustersCard({ clusters }: { clusters: Cluster[] }) {
  return (
    <Card
      title="Clusters"
      text={clusters.length > 1 && 'Each account’s data is in one of these databases.'}
      flush
    >
      <Table
        label="Clusters"
        rows={clusters}
        rowKey={cluster => `${cluster.Number}`}
        columns={[
          {
            title: 'Cluster',
            cell: ({ Number, Server, Database }) => (
              <>
                <div>Cluster {Number}</div>
                {Server && (
                  <div class="small quiet">
                    {Database} on {Server}
                  </div>
                )}
              </>
            ),
          },
          { title: 'State', cell: cluster => <State cluster={cluster} /> },
          {
            title: 'Size',
            right: true,
            tight: true,
            cell: cluster => figure(cluster.Bytes, bytes),
          },
          { title: 'Partners', right: true, cell: cluster => figure(cluster.Partners) },
          {
            title: 'Events',
            right: true,
            cell: cluster => (
              <>
                <div>{figure(cluster.Events)}</div>
                {cluster.RecentEvents !== null && (
                  <div class="small quiet">{count(cluster.RecentEvents)} since yesterday</div>
                )}
              </>
            ),
          },
          { title: 'Waiting', right: true, cell: cluster => figure(cluster.Pending) },
        ]}
      />
    </Card>
  );
}
