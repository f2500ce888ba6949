// What a developer's own server answered to copies of a callback, or of a test, that `postbackd
// listen` forwarded. Most are never forwarded: then nothing is shown.
import { useResource } from '../../app/resource';
import { duration } from '../../lib/dates';
import { path } from '../../lib/http';
import { Badge, Card, Time } from '../../ui/basics';
import { Table } from '../../ui/table';

interface Forward {
  RewardId: string;
  At: string;
  Status: number | null;
  DurationMs: number;
  Detail: string;
}

/** A copy is answered a moment after the page is shown. */
const readEveryMs = 3000;

export function Forwards({ rewardId }: { rewardId: string }) {
  const { data } = useResource<{ Items: Forward[] }>(
    path`/api/v1/forwards`,
    { rewardId },
    { everyMs: readEveryMs },
  );
  if (!data?.Items.length) return null;
  return (
    <Card
      title="Forwarded by postbackd listen"
      text="Answers of your own server to copies. They do not count as attempts."
      flush
    >
      <Table
        label="Forwarded by postbackd listen"
        rows={data.Items}
        rowKey={one => `${one.At} ${one.DurationMs}`}
        columns={[
          { title: 'Forwarded', tight: true, cell: one => <Time at={one.At} short /> },
          {
            title: 'Status',
            tight: true,
            cell: ({ Status }) => (
              <Badge tone={Status && Status < 300 ? 'good' : 'bad'}>{Status ?? 'no answer'}</Badge>
            ),
          },
          { title: 'Answer', cell: one => one.Detail },
          { title: 'Took', right: true, cell: one => duration(one.DurationMs) },
        ]}
      />
    </Card>
  );
}
