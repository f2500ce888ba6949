// The URLs of an app beside each other: health, a test, the last failed attempt; and one URL for all.
import { useState } from 'preact/hooks';
import { useResource } from '../../app/resource';
import { may, me } from '../../app/session';
import { path, post } from '../../lib/http';
import type { App, Endpoint, Endpoints, RewardType } from '../../lib/types';
import { Button, Card, ProblemNotice, Time } from '../../ui/basics';
import { TextField, useSending } from '../../ui/forms';
import { HealthBadge, tabOf } from '../../ui/health';
import { count } from '../../ui/money';
import { say } from '../../ui/overlay';
import { useTestLog } from '../console/tests';
import { Verdict, type TestAttempt } from '../console/verdict';
import { changeApp, savedAt, type TabProps } from './loaded';

type Kind = Endpoint['Endpoint'];

const about: Record<Kind, { title: string; url: keyof App; test: RewardType }> = {
  success: {
    title: 'Success (surveys)',
    url: 'SuccessCallbackUrl',
    test: 'survey_completed',
  },
  failure: {
    title: 'Failure (surveys)',
    url: 'FailureCallbackUrl',
    test: 'survey_disqualified',
  },
  offer: { title: 'Offers', url: 'OfferCallbackUrl', test: 'offer_completed' },
  test: { title: 'Tests', url: 'TestCallbackUrl', test: 'survey_completed' },
};

const allKinds: Kind[] = ['success', 'failure', 'offer'];

export function useEndpoints(app: string): Endpoint[] {
  const { data } = useResource<Endpoints>(
    may('callbacks:read') ? path`/api/v1/apps/${app}/endpoints` : null,
    {},
    { everyMs: 10_000 },
  );
  return data?.Endpoints ?? [];
}

export function TestButton({ app, kind }: { app: App; kind: Kind }) {
  const [result, setResult] = useState<TestAttempt | null>(null);
  const log = useTestLog(app.AppId);
  const sending = useSending();
  const send = () =>
    sending.run(async () => {
      setResult(null);
      const body = {
        RewardType: about[kind].test,
        PanelistId: 'test-user-1',
        Url: app.TestCallbackUrl ? app[about[kind].url] : undefined, // else it would go there
      };
      const sent = await post<TestAttempt>(path`/api/v1/apps/${app.AppId}/test-callback`, body);
      log.add(about[kind].test, sent);
      setResult(sent);
    });
  return (
    <>
      <div class="row">
        <Button
          size="small"
          busy={sending.busy}
          aria-label={`Test ${about[kind].title}`}
          onClick={send}
        >
          Test
        </Button>
      </div>
      <ProblemNotice problem={sending.problem} />
      <div aria-live="polite">{result && <Verdict result={result} />}</div>
    </>
  );
}

/** said: its cause stands above it. */
export function LastFailure(props: { app: App; endpoint: Endpoint; said?: boolean }) {
  const { app, endpoint, said } = props;
  const error = endpoint.LastError;
  if (!error) return <p class="quiet small">No failed attempt yet.</p>;
  return (
    <div class="small">
      Last failed attempt <Time at={error.At} short ago />
      {error.At < savedAt[app.AppId]! && ', before you saved'}
      {!said && `: ${error.Detail}`}
      {me.value?.Side === 'partner' && (
        <>
          {' '}
          <a href={`/callbacks?appId=${encodeURIComponent(app.AppId)}&class=any`}>
            Failed callbacks of this app
          </a>
        </>
      )}
    </div>
  );
}

function OneUrl({ app, kind, endpoint }: { app: App; kind: Kind; endpoint?: Endpoint }) {
  const url = app[about[kind].url] as string | null;
  return (
    <div class="stack-small" role="group" aria-label={about[kind].title}>
      <div class="row">
        <strong>{about[kind].title}</strong>
        {endpoint && <HealthBadge health={endpoint.Health} />}
        {endpoint && endpoint.Waiting > 0 && (
          <span class="quiet small">{count(endpoint.Waiting)} waiting</span>
        )}
      </div>
      {url ? <code>{url}</code> : <span class="quiet">No URL: nothing is sent.</span>}
      {url && endpoint && <LastFailure app={app} endpoint={endpoint} />}
      {url && may('callbacks:write') && <TestButton app={app} kind={kind} />}
    </div>
  );
}

function AllThree(props: TabProps) {
  const [url, setUrl] = useState('');
  const sending = useSending();
  const names = allKinds.map(kind => about[kind].url as string);
  const save = () =>
    sending.run(async () => {
      const to = url.trim() || null;
      await changeApp(props, Object.fromEntries(names.map(name => [name, to])));
      setUrl('');
      say('Saved for all three.');
    });
  const fault = names.map(name => sending.fault(name)).find(Boolean);
  return (
    <details>
      <summary>One URL for all three</summary>
      <div class="stack-small">
        <TextField
          label="URL for all three"
          type="url"
          mono
          placeholder="https://"
          hint="Replaces the URLs above, but that of tests. RewardType tells your server the type of each callback."
          value={url}
          onChange={setUrl}
          fault={fault}
        />
        <ProblemNotice problem={sending.others(...names)} />
        <div class="row end">
          <Button kind="primary" busy={sending.busy} disabled={!url.trim()} onClick={save}>
            Set all three
          </Button>
        </div>
      </div>
    </details>
  );
}

export function UrlsCard(props: TabProps) {
  const { app } = props;
  const endpoints = useEndpoints(app.AppId);
  const find = (kind: Kind) => endpoints.find(one => one.Endpoint === kind);
  return (
    <Card title="Callback URLs" text="Where the callbacks of this app are sent.">
      {[...allKinds, ...(app.TestCallbackUrl ? (['test'] as const) : [])].map(kind => (
        <OneUrl key={kind} app={app} kind={kind} endpoint={find(kind)} />
      ))}
      {may('apps:write') && <AllThree {...props} />}
    </Card>
  );
}

/** On a tab: how the URLs of the other one are. */
export function OtherTab({ app, kinds, here }: { app: App; kinds: Kind[]; here: string }) {
  const endpoints = useEndpoints(app.AppId).filter(one => kinds.includes(one.Endpoint));
  if (!endpoints.length) return null;
  return (
    <p class="row">
      <span class="quiet">Other URLs of this app:</span>
      {endpoints.map(one => (
        <span key={one.Endpoint} class="row">
          <a href={`${here}/${tabOf(one.Endpoint)}`}>{about[one.Endpoint].title}</a>
          <HealthBadge health={one.Health} />
        </span>
      ))}
    </p>
  );
}
