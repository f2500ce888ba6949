// Tabs "Postback" (surveys) and "Callback" (offers): URLs, secret, fields and limits.
import { may, me } from '../../app/session';
import { path } from '../../lib/http';
import { rewardTypes, type App, type Endpoint } from '../../lib/types';
import { Card, Caution, LinkButton, Notice, Time } from '../../ui/basics';
import { CheckField, TextField } from '../../ui/forms';
import { endpointNames, HealthBadge, healthWords } from '../../ui/health';
import { count } from '../../ui/money';
import { duration } from '../../lib/dates';
import { typeTitles } from '../callbacks/words';
import { DeliveriesCard } from '../deliveries/deliveries';
import type { TabProps } from './loaded';
import { SuccessCard } from './answer';
import { CertificateCard } from './certificate';
import { FormatFields, formatValues } from './format';
import { LastFailure, OtherTab, TestButton, useEndpoints } from './endpoints';
import { SecretCard } from './secret';
import { SettingsCard, type Draft } from './settings';

export function UrlField({
  draft,
  name,
  label,
  hint,
}: {
  draft: Draft;
  name: string;
  label: string;
  hint: string;
}) {
  const url = draft.text(name);
  return (
    <div class="stack-small">
      <TextField
        label={label}
        type="url"
        mono
        placeholder="https://"
        hint={hint}
        {...draft.field(name)}
      />
      {/^http:/i.test(url.trim()) && (
        <Caution>
          http is not encrypted: anyone on the network path can read and change these callbacks.
        </Caution>
      )}
    </div>
  );
}

function HealthNotice({ app, endpoint }: { app: App; endpoint: Endpoint }) {
  const state = healthWords[endpoint.Health];
  const error = endpoint.LastError;
  const sick = state.tone === 'bad' || state.tone === 'warn';
  return (
    <div class="stack-small">
      <div class="row">
        <strong>{endpointNames[endpoint.Endpoint]}</strong>
        <HealthBadge health={endpoint.Health} />
        {endpoint.Since && sick && (
          <span class="quiet small">
            since <Time at={endpoint.Since} short ago />
          </span>
        )}
      </div>
      <div class="quiet small">
        {count(endpoint.Succeeded24h)} delivered and {count(endpoint.Failed24h)} failed in 24 h,{' '}
        {count(endpoint.Waiting)} waiting
        {endpoint.LatencyP95Ms > 0 && `, p95 ${duration(endpoint.LatencyP95Ms)}`}
      </div>
      {sick && error && (
        <Notice tone={state.tone} title={error.Detail}>
          {error.Fix}
        </Notice>
      )}
      <LastFailure app={app} endpoint={endpoint} said={sick} />
      {may('callbacks:write') && <TestButton app={app} kind={endpoint.Endpoint} />}
    </div>
  );
}

function HealthOf({ app, kinds }: { app: App; kinds: Endpoint['Endpoint'][] }) {
  const shown = useEndpoints(app.AppId).filter(
    e => kinds.includes(e.Endpoint) && e.State !== 'not_configured',
  );
  if (!shown.length) return null;
  return (
    <>
      <Card
        title="Health"
        actions={
          me.value?.Side === 'partner' && (
            <LinkButton size="small" href={`/callbacks?appId=${encodeURIComponent(app.AppId)}`}>
              Callbacks of this app
            </LinkButton>
          )
        }
      >
        {shown.map(endpoint => (
          <HealthNotice key={endpoint.Endpoint} app={app} endpoint={endpoint} />
        ))}
      </Card>
      {shown.map(({ Endpoint }) => (
        <DeliveriesCard
          key={Endpoint}
          title={`Deliveries: ${endpointNames[Endpoint]}`}
          of={path`/api/v1/apps/${app.AppId}`}
          query={{ endpoint: Endpoint }}
        />
      ))}
    </>
  );
}

function LimitsCard(props: TabProps) {
  const { app } = props;
  return (
    <SettingsCard
      {...props}
      title="Limits"
      text="How fast callbacks are sent to all three URLs of the app."
      values={{
        TimeoutSeconds: String(app.TimeoutSeconds),
        MaxConcurrency: String(app.MaxConcurrency),
        RatePerSecond: String(app.RatePerSecond ?? 0),
      }}
      numeric={['TimeoutSeconds', 'MaxConcurrency', 'RatePerSecond']}
    >
      {draft => (
        <div class="grid-3">
          <TextField
            label="Timeout"
            unit="seconds"
            inputMode="numeric"
            hint="3 to 30, from connecting to the end of the response."
            {...draft.field('TimeoutSeconds')}
          />
          <TextField
            label="Concurrency"
            unit="callbacks"
            inputMode="numeric"
            hint="At most this many in parallel per URL."
            {...draft.field('MaxConcurrency')}
          />
          <TextField
            label="Rate"
            unit="per second"
            inputMode="numeric"
            hint="0: no limit."
            {...draft.field('RatePerSecond')}
          />
        </div>
      )}
    </SettingsCard>
  );
}

function AnswersCard(props: TabProps) {
  return (
    <SettingsCard
      {...props}
      title="Final statuses"
      text="A callback that gets one of these statuses is not retried, for example if your server answers 404 for unknown users. 410 is always final."
      values={{ FinalStatuses: props.app.FinalStatuses.join(', ') }}
      lists={['FinalStatuses']}
    >
      {draft => (
        <TextField
          label="Statuses"
          hint="From 400 to 499, such as 404, 422. Empty: none."
          {...draft.field('FinalStatuses')}
        />
      )}
    </SettingsCard>
  );
}

/** The draft is the list as text; null: every type. An empty list, which is refused, is a comma. */
function TypesCard(props: TabProps) {
  const listed = (types: readonly string[]) => types.join(', ') || ',';
  const types = props.app.RewardTypes;
  return (
    <SettingsCard
      {...props}
      title="Reward types"
      text="The types of callbacks that are sent to the three URLs of the app. Other types are skipped, but still count in reports."
      values={{ RewardTypes: types && listed(types) }}
      lists={['RewardTypes']}
    >
      {draft => {
        const text = draft.text('RewardTypes');
        const chosen = rewardTypes.filter(type => !text || text.split(', ').includes(type));
        return (
          <>
            <CheckField
              label="Every type"
              hint="Including types that are added later."
              fault={draft.fault('RewardTypes')}
              checked={!text}
              onChange={on => draft.set('RewardTypes', on ? null : listed(rewardTypes))}
            />
            {text &&
              rewardTypes.map(type => (
                <CheckField
                  key={type}
                  label={typeTitles[type]}
                  checked={chosen.includes(type)}
                  onChange={on =>
                    draft.set(
                      'RewardTypes',
                      listed(rewardTypes.filter(t => (t === type ? on : chosen.includes(t)))),
                    )
                  }
                />
              ))}
          </>
        );
      }}
    </SettingsCard>
  );
}

/** What both tabs set, for all URLs of the app. */
function SharedCards(props: TabProps) {
  return (
    <>
      <LimitsCard {...props} />
      <SuccessCard {...props} />
      <AnswersCard {...props} />
      <TypesCard {...props} />
      <CertificateCard {...props} />
    </>
  );
}

export function PostbackTab(props: TabProps & { here: string }) {
  const { app } = props;
  return (
    <>
      <OtherTab app={app} kinds={['offer']} here={props.here} />
      <SettingsCard
        {...props}
        title="Survey callbacks"
        text="The results of surveys are sent to these URLs. Saving a URL also enables it again after a 410."
        values={{
          SuccessCallbackUrl: app.SuccessCallbackUrl,
          FailureCallbackUrl: app.FailureCallbackUrl,
          ...formatValues(app),
        }}
        nullable={['SuccessCallbackUrl', 'FailureCallbackUrl']}
      >
        {draft => (
          <>
            <UrlField
              draft={draft}
              name="SuccessCallbackUrl"
              label="Success Callback URL"
              hint="Completed surveys, the profiler, and ad hoc rewards."
            />
            <UrlField
              draft={draft}
              name="FailureCallbackUrl"
              label="Failure Callback URL"
              hint="Disqualified or not completed. Empty: none are sent."
            />
            <FormatFields
              app={app}
              draft={draft}
              urls={{
                SuccessCallbackUrl: 'survey_completed',
                FailureCallbackUrl: 'survey_disqualified',
              }}
            />
          </>
        )}
      </SettingsCard>
      <HealthOf app={app} kinds={['success', 'failure']} />
      <SecretCard {...props} />
      <SettingsCard
        {...props}
        title="Fields of survey callbacks"
        values={{ LegacyFields: app.LegacyFields, ExtendedFields: app.ExtendedFields }}
      >
        {draft => (
          <>
            <CheckField
              label="Legacy fields"
              hint="Adds Signature and UniqueSurveyId, for receivers that still need them."
              checked={draft.on('LegacyFields')}
              onChange={on => draft.set('LegacyFields', on)}
            />
            <CheckField
              label="Extended fields"
              hint="Adds ClientId and Timestamp."
              checked={draft.on('ExtendedFields')}
              onChange={on => draft.set('ExtendedFields', on)}
            />
          </>
        )}
      </SettingsCard>
      <SharedCards {...props} />
    </>
  );
}

export function CallbackTab(props: TabProps & { here: string }) {
  const { app } = props;
  return (
    <>
      <OtherTab app={app} kinds={['success', 'failure']} here={props.here} />
      <SettingsCard
        {...props}
        title="Offer callbacks"
        text="Clicks, completions and reversals of offers are sent to this URL."
        values={{
          OfferCallbackUrl: app.OfferCallbackUrl,
          ...formatValues(app),
          NumericOfferGoalId: app.NumericOfferGoalId,
        }}
        nullable={['OfferCallbackUrl']}
      >
        {draft => (
          <>
            <UrlField
              draft={draft}
              name="OfferCallbackUrl"
              label="Offer Callback URL"
              hint="Empty: none are sent."
            />
            <FormatFields app={app} draft={draft} urls={{ OfferCallbackUrl: 'offer_completed' }}>
              <CheckField
                label="Numeric OfferGoalId"
                hint='Sends 5 instead of "5".'
                checked={draft.on('NumericOfferGoalId')}
                onChange={on => draft.set('NumericOfferGoalId', on)}
              />
            </FormatFields>
          </>
        )}
      </SettingsCard>
      <HealthOf app={app} kinds={['offer']} />
      <SecretCard {...props} />
      <SharedCards {...props} />
    </>
  );
}
