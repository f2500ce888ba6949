// A completed offer is taken back: found by its RewardId, looked at, reversed once.
import { useState } from 'preact/hooks';
import { useResource } from '../../app/resource';
import { path } from '../../lib/http';
import type { Callback } from '../../lib/types';
import { Button, Card, Facts, Loading, Notice, ProblemNotice, Time } from '../../ui/basics';
import { Form, TextField } from '../../ui/forms';
import { Amount, Usd } from '../../ui/money';
import { Confirm } from '../../ui/overlay';
import { eventId, sendOnce } from './once';
import type { Sent } from './rewards';

interface Props {
  partner: string;
  onSent: (sent: Sent) => void;
}

function Found({ partner, callback, onSent }: Props & { callback: Callback }) {
  const [reason, setReason] = useState('');
  const [asking, setAsking] = useState(false);
  const id = eventId('reversal');
  const reverse = async () => {
    const fresh = await sendOnce({
      EventId: id,
      Type: 'offer_completion_reversed',
      ClientId: callback.ClientId,
      OriginalRewardId: callback.RewardId,
      Reason: reason.trim() || undefined,
    });
    onSent({ partner, id, fresh });
  };
  const what = (
    <Facts
      items={[
        ['Panelist', <span class="mono">{callback.PanelistId}</span>],
        ['App', callback.AppId],
        ['Accepted', <Time at={callback.CreatedAt} />],
        ['Reward', <Amount amount={callback.Reward} />],
        ['Revenue', <Usd amount={callback.RevenueAmount} />],
      ]}
    />
  );
  if (callback.RewardType !== 'offer_completed')
    return (
      <Notice tone="warn" title="Only a completed offer can be reversed">
        This is <code>{callback.RewardType}</code>. Where the app allows claw-backs, a negative
        ad-hoc reward takes it back.
      </Notice>
    );
  return (
    <>
      {what}
      <TextField
        label="Reason"
        value={reason}
        onChange={setReason}
        hint="Kept in the callback log; not sent to the partner."
      />
      <div class="row end">
        <Button kind="danger" onClick={() => setAsking(true)}>
          Reverse it
        </Button>
      </div>
      {asking && (
        <Confirm
          title="Reverse this offer?"
          action="Reverse it"
          danger
          onClose={() => setAsking(false)}
          onDo={reverse}
        >
          {what}
          <p>
            The panelist loses <Amount amount={callback.Reward} />, the partner{' '}
            <Usd amount={callback.RevenueAmount} />, dated today. This cannot be undone, and happens
            only once, even if you click again.
          </p>
        </Confirm>
      )}
    </>
  );
}

export function ReversalCard({ partner, onSent }: Props) {
  const [typed, setTyped] = useState('');
  const [wanted, setWanted] = useState('');
  const { data, problem, loading, reload } = useResource<Callback>(
    wanted ? path`/api/v1/callbacks/${wanted}` : null,
    { partnerId: partner },
  );
  const find = () => {
    if (typed.trim() === wanted) reload();
    else setWanted(typed.trim());
  };
  return (
    <Card
      title="Reversal of an offer"
      text="The advertiser reversed an offer. The same amounts, negative, are sent to the Offer Callback URL."
    >
      <Form onSend={find} label="Find the offer">
        <TextField label="RewardId of the completed offer" mono value={typed} onChange={setTyped} />
        <div class="row end">
          <Button type="submit" disabled={!typed.trim()}>
            Look up
          </Button>
        </div>
      </Form>
      <ProblemNotice problem={problem} />
      {wanted && loading && !data && <Loading />}
      {data && <Found key={data.RewardId} partner={partner} callback={data} onSent={onSent} />}
    </Card>
  );
}
