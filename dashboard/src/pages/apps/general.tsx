// Tab "General": the Currency Value and what it makes of revenue.
import { Decimal } from '../../lib/decimal';
import { CheckField, TextField } from '../../ui/forms';
import { usd } from '../../ui/money';
import { Table } from '../../ui/table';
import { path } from '../../lib/http';
import { DeliveriesCard } from '../deliveries/deliveries';
import { UrlsCard } from './endpoints';
import type { TabProps } from './loaded';
import { SettingsCard } from './settings';
import { UrlField } from './urls';

const samples = ['0.05', '0.35', '1.00', '4.20', '12.50'];

/** What the daemon computes: the product, rounded half away from zero to the app's digits. */
export function rewardFor(revenue: string, currencyValue: string, decimals: string): string | null {
  const amount = Decimal.parse(revenue);
  const ratio = Decimal.parse(currencyValue);
  const digits = /^[0-6]$/.test(decimals.trim()) ? Number(decimals) : null;
  if (!amount || !ratio || digits === null || ratio.compare(Decimal.zero) <= 0) return null;
  return amount.times(ratio).rounded(digits).format(Math.min(2, digits));
}

function Preview({ currencyValue, decimals }: { currencyValue: string; decimals: string }) {
  return (
    <div class="stack-small">
      <h3>Preview</h3>
      <Table
        label="Preview of rewards"
        rows={samples}
        rowKey={revenue => revenue}
        columns={[
          { title: 'You earn', cell: revenue => usd(Decimal.parse(revenue)!) },
          {
            title: 'Your user gets',
            right: true,
            cell: revenue => <strong>{rewardFor(revenue, currencyValue, decimals) ?? '–'}</strong>,
          },
        ]}
      />
      <p class="quiet small">
        The Currency Value at the time an event is accepted applies. A change does not affect past
        rewards.
      </p>
    </div>
  );
}

export function GeneralTab(props: TabProps) {
  const { app } = props;
  return (
    <>
      <UrlsCard {...props} />
      <DeliveriesCard title="Deliveries" of={path`/api/v1/apps/${app.AppId}`} />
      <SettingsCard
        {...props}
        title="Rewards"
        text="Converts the USD you earn into your in-app currency."
        values={{
          Name: app.Name,
          CurrencyValue: app.CurrencyValue.toString(),
          RewardDecimals: String(app.RewardDecimals),
        }}
        numeric={['RewardDecimals']}
      >
        {draft => (
          <div class="grid-2">
            <div class="stack">
              <TextField label="Name" {...draft.field('Name')} />
              <TextField
                label="Currency Value"
                unit="per 1 USD"
                inputMode="decimal"
                hint="Above 0, at most 1,000,000, with up to 6 decimal places."
                {...draft.field('CurrencyValue')}
              />
              <TextField
                label="Decimal places"
                inputMode="numeric"
                hint="0 to 6. With 0 your users get whole coins."
                {...draft.field('RewardDecimals')}
              />
            </div>
            <Preview
              currencyValue={draft.text('CurrencyValue')}
              decimals={draft.text('RewardDecimals')}
            />
          </div>
        )}
      </SettingsCard>
      <SettingsCard
        {...props}
        title="Disqualification rewards"
        text="A small reward for panelists who are disqualified, sent to the failure URL."
        values={{
          DisqualificationReward: app.DisqualificationReward.toString(),
          DisqualificationCap: String(app.DisqualificationCap),
        }}
        numeric={['DisqualificationCap']}
      >
        {draft => (
          <div class="grid-2">
            <TextField
              label="Reward"
              unit="of your currency"
              inputMode="decimal"
              hint="0: none."
              {...draft.field('DisqualificationReward')}
            />
            <TextField
              label="At most"
              unit="times per panelist in 24 h"
              inputMode="numeric"
              hint="After that the reward is 0."
              {...draft.field('DisqualificationCap')}
            />
          </div>
        )}
      </SettingsCard>
      <SettingsCard
        {...props}
        title="Options"
        values={{
          Enabled: app.Enabled,
          NegativeAdHoc: app.NegativeAdHoc,
        }}
      >
        {draft => (
          <>
            <CheckField
              label="The app is on"
              hint="When off, callbacks wait and retries are paused."
              checked={draft.on('Enabled')}
              onChange={on => draft.set('Enabled', on)}
            />
            <CheckField
              label="Ad hoc rewards may be negative"
              hint="Lets the operator claw back overpayments found in a reconciliation."
              checked={draft.on('NegativeAdHoc')}
              onChange={on => draft.set('NegativeAdHoc', on)}
            />
          </>
        )}
      </SettingsCard>
      <SettingsCard
        {...props}
        title="Tests"
        text="Where the callbacks of test events are sent."
        values={{ TestCallbackUrl: app.TestCallbackUrl, WithholdTests: app.WithholdTests }}
        nullable={['TestCallbackUrl']}
      >
        {draft => (
          <>
            <UrlField
              draft={draft}
              name="TestCallbackUrl"
              label="Test Callback URL"
              hint="Tests of every type go only here; real callbacks never do. Tests that wait for another URL are skipped. Empty: tests go to the URL of their type."
            />
            <CheckField
              label="Withhold tests"
              hint="Callbacks of test events are skipped, for servers that would credit them. Test callbacks are still sent."
              checked={draft.on('WithholdTests')}
              onChange={on => draft.set('WithholdTests', on)}
            />
          </>
        )}
      </SettingsCard>
    </>
  );
}
