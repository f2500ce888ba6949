// Rewards and reversals by hand, for the operator.
import { useState } from 'preact/hooks';
import { everyItem, useRead, useResource } from '../../app/resource';
import { query, setQuery } from '../../app/router';
import { path, withQuery } from '../../lib/http';
import type { Callback, Partner } from '../../lib/types';
import {
  Card,
  Empty,
  Facts,
  LinkButton,
  Loading,
  Notice,
  PageHead,
  ProblemNotice,
  Tabs,
} from '../../ui/basics';
import { isolated } from '../../ui/chosen';
import { SelectField } from '../../ui/forms';
import { Amount } from '../../ui/money';
import { AdHocCard } from './ad-hoc';
import { nextEventId } from './once';
import { ReversalCard } from './reversal';

/** An event that is stored; fresh: by the last request, not by one before it. */
export interface Sent {
  partner: string;
  id: string;
  fresh: boolean;
}

function Outcome({ sent }: { sent: Sent }) {
  const { data } = useResource<Callback>(
    path`/api/v1/callbacks/${sent.id}`,
    { partnerId: sent.partner },
    { everyMs: 2000 },
  );
  return (
    <Notice
      tone="good"
      title={sent.fresh ? 'Reward created.' : 'Already created. It counts only once.'}
    >
      <Facts
        items={[
          ['RewardId', <span class="mono">{sent.id}</span>],
          ['Reward', data ? <Amount amount={data.Reward} /> : '…'],
          ['Callback', data ? `${data.State}${data.Reason ? ` (${data.Reason})` : ''}` : '…'],
        ]}
      />
    </Notice>
  );
}

export function RewardsPage() {
  const { data, problem, reload } = useRead('partners', signal =>
    everyItem<Partner>('/api/v1/partners', {}, signal),
  );
  const [sent, setSent] = useState<Sent | null>(null);
  const partner = query.value.get('partner') ?? '';
  const reversal = query.value.get('do') === 'reversal';
  const done = (what: Sent) => {
    setSent(what);
    nextEventId(reversal ? 'reversal' : 'adhoc');
  };
  const part = { partner, onSent: done };
  return (
    <div class="page">
      <PageHead title="Manual rewards" text="Grant a reward, or reverse an offer." />
      <ProblemNotice problem={problem} retry={reload} />
      {!data && !problem && <Loading />}
      {data?.length === 0 && (
        <Card>
          <Empty title="No partner yet" action={<LinkButton href="/partners">Partners</LinkButton>}>
            Rewards belong to a partner’s app. Create a partner first.
          </Empty>
        </Card>
      )}
      {data && data.length > 0 && (
        <>
          <Tabs
            label="What to do"
            items={[
              {
                href: withQuery('/rewards', { partner }),
                title: 'Ad-hoc reward',
                current: !reversal,
              },
              {
                href: withQuery('/rewards', { do: 'reversal', partner }),
                title: 'Reversal',
                current: reversal,
              },
            ]}
          />
          {sent && <Outcome key={sent.id} sent={sent} />}
          <SelectField
            label="Partner"
            value={partner}
            items={[
              { value: '', title: 'Choose a partner' },
              ...data.map(one => ({
                value: one.PartnerId,
                title: one.Name ? `${isolated(one.Name)} (${one.PartnerId})` : one.PartnerId,
              })),
            ]}
            onChange={value => setQuery({ partner: value })}
          />
          {partner && reversal && <ReversalCard key={`${partner} ${sent?.id}`} {...part} />}
          {partner && !reversal && <AdHocCard key={`${partner} ${sent?.id}`} {...part} />}
        </>
      )}
    </div>
  );
}
