// The bounds that keep events out, and how near they are.
import { Decimal } from '../../lib/decimal';
import type { Limit } from '../../lib/types';
import { Badge, Card } from '../../ui/basics';
import { count } from '../../ui/money';
import { Table } from '../../ui/table';

/** "3.2 GiB" */
export function bytes(n: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  let whole = n;
  while (whole >= 1024 && unit < units.length - 1) {
    whole /= 1024;
    unit++;
  }
  return `${whole >= 100 || unit === 0 ? Math.round(whole) : whole.toFixed(1)} ${units[unit]}`;
}

const titles: Record<string, { title: string; text: string }> = {
  disk_reserve: { title: 'Free disk', text: 'Events are rejected when only the reserve is left.' },
  journal: { title: 'Journal', text: 'Committed, but not yet in the database file.' },
  waiting: { title: 'Waiting callbacks', text: 'Raise --waiting-most, or fix the endpoints.' },
  queue: { title: 'Events in memory', text: 'Events arrive faster than they are recorded.' },
  database: { title: 'Database', text: 'Events are rejected while it cannot be written.' },
  directory: {
    title: 'Store directory',
    text: 'Events and changes are rejected while it, or a file in it, is not in its place.',
  },
  failed: { title: 'Disk errors', text: 'A write failed: the server stops.' },
};

const sizeOf = (limit: Limit, n: number) => (limit.Unit === 'bytes' ? bytes(n) : count(n));

function inWords(limit: Limit): string {
  if (limit.Used === null || limit.Most === null) return '';
  if (limit.Bound === 'disk_reserve')
    return `${sizeOf(limit, limit.Most)} free, ${sizeOf(limit, limit.Used)} reserved`;
  return `${sizeOf(limit, limit.Used)} of ${sizeOf(limit, limit.Most)}`;
}

/** A bar, its percentage for those who do not see it, and the same in words below. */
export function Meter(props: {
  title: string;
  used: number;
  most: number;
  of: string;
  bad?: boolean;
  text: string;
}) {
  const { title, used, most, of, bad, text } = props;
  const percent = Decimal.of(used * 100).dividedBy(Decimal.of(most), 1) ?? Decimal.zero;
  return (
    <div class="stack-small fullness">
      <progress
        class={`progress ${bad ? 'bad' : ''}`}
        aria-label={`${title}: ${percent.format()} % ${of}`}
        value={Math.min(used, most)}
        max={most}
      />
      <span class="small quiet">{text}</span>
    </div>
  );
}

function Fullness({ limit }: { limit: Limit }) {
  const { Used: used, Most: most } = limit;
  if (used === null || most === null) return <span class="quiet">–</span>;
  return (
    <Meter
      title={titles[limit.Bound]?.title ?? limit.Bound}
      used={used}
      most={most}
      of="of the limit"
      bad={used * 10 >= most * 8}
      text={inWords(limit)}
    />
  );
}

export function LimitsCard({ limits }: { limits: Limit[] }) {
  return (
    <Card
      title="Limits"
      text="When a limit is reached, events are rejected with Retry-After. Callbacks continue."
      flush
    >
      <Table
        label="Limits"
        rows={limits}
        rowKey={limit => limit.Bound}
        columns={[
          {
            title: 'Limit',
            cell: limit => (
              <>
                <div>{titles[limit.Bound]?.title ?? limit.Bound}</div>
                <div class="small quiet">{titles[limit.Bound]?.text}</div>
              </>
            ),
          },
          { title: 'Used', cell: limit => <Fullness limit={limit} /> },
          {
            title: 'Requests rejected',
            right: true,
            cell: limit =>
              limit.Refused ? <Badge tone="bad">{count(limit.Refused)}</Badge> : count(0),
          },
        ]}
      />
    </Card>
  );
}
