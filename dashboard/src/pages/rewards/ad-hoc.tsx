// A reward by hand: for a panelist who was promised one, or a claw-back where the app allows it.
import { useState } from 'preact/hooks';
import { everyItem, useRead } from '../../app/resource';
import { Decimal } from '../../lib/decimal';
import { path } from '../../lib/http';
import type { App, Client } from '../../lib/types';
import { Button, Card, Empty, Facts, Loading, ProblemNotice } from '../../ui/basics';
import { isolated } from '../../ui/chosen';
import { CheckField, Form, SelectField, TextField } from '../../ui/forms';
import { usd } from '../../ui/money';
import { Confirm } from '../../ui/overlay';
import { eventId, sendOnce } from './once';
import type { Sent } from './rewards';

interface Choice {
  client: Client;
  app: App;
}

/** The clients that events are taken from now. */
async function readClients(partner: string, signal: AbortSignal): Promise<Choice[]> {
  const apps = await everyItem<App>(path`/api/v1/partners/${partner}/apps`, {}, signal);
  const found: Choice[] = [];
  for (const app of apps) {
    const clients = await everyItem<Client>(path`/api/v1/apps/${app.AppId}/clients`, {}, signal);
    found.push(...clients.filter(one => one.Enabled).map(client => ({ client, app })));
  }
  return found;
}

/** What the amount is worth at the app's present Currency Value; null: no amount yet. */
export function worth(reward: string, app: App): string | null {
  const amount = Decimal.parse(reward.trim());
  const dollars = amount?.dividedBy(app.CurrencyValue, 6);
  return dollars ? usd(dollars) : null;
}

interface FormProps {
  partner: string;
  choices: Choice[];
  onSent: (sent: Sent) => void;
}

function AdHocForm({ partner, choices, onSent }: FormProps) {
  const [clientId, setClientId] = useState('');
  const [panelist, setPanelist] = useState('');
  const [reward, setReward] = useState('');
  const [reason, setReason] = useState('');
  const [original, setOriginal] = useState('');
  const [isTest, setTest] = useState(false);
  const [asking, setAsking] = useState(false);
  const chosen = choices.find(one => one.client.ClientId === clientId);
  const amount = Decimal.parse(reward.trim());
  const id = eventId('adhoc');
  const refused = chosen && amount?.isNegative && !chosen.app.NegativeAdHoc;
  const pay = async () => {
    const fresh = await sendOnce({
      EventId: id,
      Type: 'ad_hoc',
      ClientId: clientId,
      PanelistId: panelist,
      Reward: reward.trim(),
      Reason: reason.trim() || undefined,
      OriginalRewardId: original.trim() || undefined,
      IsTest: isTest || undefined,
    });
    onSent({ partner, id, fresh });
  };
  return (
    <Form onSend={() => setAsking(true)} label="Ad-hoc reward">
      <div class="grid-2">
        <SelectField
          label="Client"
          value={clientId}
          items={[
            { value: '', title: 'Choose a client' },
            ...choices.map(({ client, app }) => ({
              value: client.ClientId,
              title: `${isolated(app.Name || app.AppId)} · ${client.ClientId}`,
            })),
          ]}
          onChange={setClientId}
        />
        <TextField
          label="PanelistId"
          mono
          value={panelist}
          onChange={setPanelist}
          hint="Exactly as in the partner’s own system."
        />
        <TextField
          label="Reward"
          inputMode="decimal"
          unit="of the app’s currency"
          value={reward}
          onChange={setReward}
          hint={
            chosen &&
            (chosen.app.NegativeAdHoc
              ? 'A negative amount takes back an earlier payment.'
              : 'Must be positive: this app does not allow claw-backs (NegativeAdHoc is off).')
          }
          fault={
            reward.trim() && !amount
              ? 'Enter a number.'
              : refused
                ? 'This app does not allow claw-backs.'
                : null
          }
        />
        <TextField
          label="Reason"
          value={reason}
          onChange={setReason}
          hint="Kept in the callback log; not sent to the partner."
        />
        <TextField
          label="OriginalRewardId"
          mono
          value={original}
          onChange={setOriginal}
          hint="Optional: the reward that this one corrects."
        />
      </div>
      <CheckField
        label="Test event"
        hint="Sent to the partner as a test, and left out of reports."
        checked={isTest}
        onChange={setTest}
      />
      <div class="row end">
        <Button
          type="submit"
          kind="primary"
          disabled={!chosen || !panelist || !amount || amount.isZero || refused}
        >
          Preview
        </Button>
      </div>
      {asking && chosen && amount && (
        <Confirm
          title={amount.isNegative ? 'Take this back?' : 'Pay this reward?'}
          action={amount.isNegative ? 'Take back' : 'Pay'}
          danger={amount.isNegative}
          onClose={() => setAsking(false)}
          onDo={pay}
        >
          <Facts
            items={[
              ['Panelist', <span class="mono">{panelist}</span>],
              ['App', `${isolated(chosen.app.Name || chosen.app.AppId)} of ${partner}`],
              ['Reward', <strong>{amount.format()}</strong>],
              [
                'Worth',
                `${worth(reward, chosen.app)} at ${chosen.app.CurrencyValue.format()} per 1 USD`,
              ],
              ['EventId', <span class="mono">{id}</span>],
            ]}
          />
          <p class="small quiet">
            It is paid only once, even if you click again. A paid reward can only be taken back
            where the app allows claw-backs.
          </p>
        </Confirm>
      )}
    </Form>
  );
}

export function AdHocCard({ partner, onSent }: { partner: string; onSent: (sent: Sent) => void }) {
  const { data, problem, reload } = useRead(`clients ${partner}`, signal =>
    readClients(partner, signal),
  );
  return (
    <Card
      title="Ad-hoc reward"
      text="Counts in the reports and goes to the partner’s Success Callback URL."
    >
      <ProblemNotice problem={problem} retry={reload} />
      {!data && !problem && <Loading />}
      {data?.length === 0 && (
        <Empty title="This partner has no enabled client">
          A reward belongs to a client of an app: create or enable one first.
        </Empty>
      )}
      {data && data.length > 0 && (
        <AdHocForm key={partner} partner={partner} choices={data} onSent={onSent} />
      )}
    </Card>
  );
}
