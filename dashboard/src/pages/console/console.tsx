// The test console: send a callback of any kind, or find out why a received one does not verify.
import { useEffect, useState } from 'preact/hooks';
import { everyItem, useRead } from '../../app/resource';
import { address, query, setQuery } from '../../app/router';
import { may, partnerId } from '../../app/session';
import { duration } from '../../lib/dates';
import { path, post, type Query } from '../../lib/http';
import { rewardTypes, type App, type RewardType } from '../../lib/types';
import {
  Badge,
  Button,
  Card,
  Empty,
  LinkButton,
  Loading,
  Notice,
  PageHead,
  ProblemNotice,
  Tabs,
} from '../../ui/basics';
import { Form, SelectField, TextField, useSending } from '../../ui/forms';
import { AttemptExchange, AttemptResult } from '../callbacks/callback';
import { Forwards } from '../callbacks/forwards';
import { typeTitles } from '../callbacks/words';
import { TestLogCard, useTestLog } from './tests';
import { outcomeOf, Verdict, type TestAttempt } from './verdict';
import { VerifyPanel, type Verified } from './verify';

const urlOf: Record<RewardType, keyof App> = {
  survey_completed: 'SuccessCallbackUrl',
  profiler_completed: 'SuccessCallbackUrl',
  ad_hoc: 'SuccessCallbackUrl',
  survey_disqualified: 'FailureCallbackUrl',
  offer_completed: 'OfferCallbackUrl',
  offer_clicked: 'OfferCallbackUrl',
  offer_completion_reversed: 'OfferCallbackUrl',
};

const isJson = (result: TestAttempt) => result.Method === 'POST' && result.RequestBody === null;

/** With the app's own secret: what the receiver should have found. */
async function verify(app: App, result: TestAttempt): Promise<Verified | null> {
  if (/"Sig":"\*/.test(result.Body)) return null; // hidden from this role
  const headers = new Map(
    Object.entries(result.RequestHeaders ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const verifyPath = path`/api/v1/apps/${app.AppId}/verify-callback`;
  if (!isJson(result)) return post<Verified>(verifyPath, { Body: result.Body });
  return post<Verified>(verifyPath, {
    Body: result.Body,
    WebhookId: headers.get('webhook-id'),
    WebhookTimestamp: headers.get('webhook-timestamp'),
    WebhookSignature: headers.get('webhook-signature'),
  });
}

function Signatures({ verified }: { verified: Verified | null }) {
  if (!verified) return <Notice>Your role cannot see Sig, so it is not checked here.</Notice>;
  if (!verified.WebhookSignature)
    return (
      <Notice tone={verified.Sig.Matches ? 'info' : 'bad'} title="Signature of the request">
        Sig {verified.Sig.Matches ? 'is correct' : 'is wrong'} for this app’s secret.
      </Notice>
    );
  const both = verified.Sig.Matches && verified.WebhookSignature?.Matches;
  return (
    <Notice tone={both ? 'info' : 'bad'} title="Signatures of the request">
      Sig {verified.Sig.Matches ? 'is correct' : 'is wrong'}, webhook-signature{' '}
      {verified.WebhookSignature?.Matches ? 'is correct' : 'is wrong'} for this app’s secret. If
      your server disagrees, it uses another secret or does not verify the raw body: paste what it
      received under Verify.
    </Notice>
  );
}

interface Sent {
  result: TestAttempt;
  verified: Verified | null;
}

function Result({ result, verified }: Sent) {
  return (
    <Card
      title="Result of the test"
      actions={
        outcomeOf(result) === 'doubted' ? (
          <Badge tone="bad">{result.Status}</Badge>
        ) : (
          <AttemptResult attempt={result} />
        )
      }
      text={`It took ${duration(result.DurationMs)}. RewardId ${result.RewardId}; tests are not counted in reports.`}
    >
      <Verdict result={result} />
      <Signatures verified={verified} />
      <AttemptExchange attempt={result} body={result.Body} />
    </Card>
  );
}

function SendPanel({ app }: { app: App }) {
  const [type, setType] = useState<RewardType>('survey_completed');
  const [panelist, setPanelist] = useState('test-user-1');
  const [url, setUrl] = useState('');
  const [reward, setReward] = useState('');
  const [revenue, setRevenue] = useState('');
  const [result, setResult] = useState<Sent | null>(null);
  const sending = useSending();
  const log = useTestLog(app.AppId);
  const configured = app.TestCallbackUrl ?? (app[urlOf[type]] as string | null);
  const isClick = type === 'offer_clicked';
  const send = () =>
    sending.run(async () => {
      setResult(null);
      const body = {
        RewardType: type,
        PanelistId: panelist,
        Url: url.trim() || undefined,
        Reward: isClick ? undefined : reward.trim() || undefined,
        RevenueAmount: isClick ? undefined : revenue.trim() || undefined,
      };
      const sent = await post<TestAttempt>(path`/api/v1/apps/${app.AppId}/test-callback`, body);
      log.add(type, sent);
      setResult({ result: sent, verified: await verify(app, sent) });
    });
  return (
    <>
      <Card title="Send a test callback">
        <Form onSend={send} label="Send a test callback">
          <div class="grid-2">
            <SelectField
              label="RewardType"
              value={type}
              items={rewardTypes.map(value => ({ value, title: typeTitles[value] }))}
              onChange={setType}
              fault={sending.fault('RewardType')}
            />
            <TextField
              label="PanelistId"
              mono
              value={panelist}
              onChange={setPanelist}
              fault={sending.fault('PanelistId')}
            />
            {!isClick && (
              <>
                <TextField
                  label="Reward"
                  inputMode="decimal"
                  placeholder="1"
                  value={reward}
                  onChange={setReward}
                  fault={sending.fault('Reward')}
                />
                <TextField
                  label="RevenueAmount"
                  unit="USD"
                  inputMode="decimal"
                  placeholder="1"
                  value={revenue}
                  onChange={setRevenue}
                  fault={sending.fault('RevenueAmount')}
                />
              </>
            )}
          </div>
          {may('apps:write') && (
            <TextField
              label="URL"
              type="url"
              mono
              placeholder={configured ?? 'https://'}
              hint={
                configured
                  ? 'Empty: the app’s URL for this type.'
                  : 'The app has no URL for this type yet. Enter one.'
              }
              value={url}
              onChange={setUrl}
              fault={sending.fault('Url')}
            />
          )}
          <ProblemNotice
            problem={sending.others('RewardType', 'PanelistId', 'Reward', 'RevenueAmount', 'Url')}
          />
          <div class="row end">
            <Button type="submit" kind="primary" busy={sending.busy}>
              Send
            </Button>
          </div>
        </Form>
      </Card>
      <div aria-live="polite">{result && <Result {...result} />}</div>
      {result && <Forwards rewardId={result.result.RewardId} />}
      <TestLogCard log={log} />
    </>
  );
}

export function ConsolePage() {
  const {
    data: apps,
    problem,
    reload,
  } = useRead(`apps ${partnerId()}`, signal =>
    everyItem<App>(path`/api/v1/partners/${partnerId()}/apps`, {}, signal),
  );
  const given = query.value.get('app');
  const verifying = query.value.get('do') === 'verify';
  const app = apps?.find(one => one.AppId === given) ?? apps?.[0];
  useEffect(() => {
    if (app && given !== app.AppId) setQuery({ app: app.AppId });
  }, [app?.AppId]);
  const tab = (change: Query) => {
    const all = new URLSearchParams(query.value);
    for (const [name, value] of Object.entries(change)) {
      if (value) all.set(name, String(value));
      else all.delete(name);
    }
    return `${address.value.path}?${all.toString()}`;
  };
  return (
    <div class="page">
      <PageHead
        title="Test console"
        text="Send test callbacks to your server, and find out why a signature does not match."
      />
      <Tabs
        label="What to test"
        items={[
          { href: tab({ do: null }), title: 'Send', current: !verifying },
          { href: tab({ do: 'verify' }), title: 'Verify', current: verifying },
        ]}
      />
      <ProblemNotice problem={problem} retry={reload} />
      {!apps && !problem && <Loading />}
      {apps && !app && (
        <Empty title="No app yet" action={<LinkButton href="/apps">Create one</LinkButton>}>
          A test callback is signed with an app’s secret.
        </Empty>
      )}
      {apps && apps.length > 1 && app && (
        <div class="narrow">
          <SelectField
            label="App"
            value={app.AppId}
            items={apps.map(one => ({ value: one.AppId, title: one.Name || one.AppId }))}
            onChange={id => setQuery({ app: id })}
          />
        </div>
      )}
      {app &&
        (verifying ? (
          <VerifyPanel key={app.AppId} app={app} />
        ) : (
          <SendPanel key={app.AppId} app={app} />
        ))}
    </div>
  );
}
