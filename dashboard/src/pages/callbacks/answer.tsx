// What became of a resend, shown where it was asked for: the answer of your server, or what the
// callback waits behind.
import { useEffect, useState } from 'preact/hooks';
import { useResource } from '../../app/resource';
import { duration } from '../../lib/dates';
import { path } from '../../lib/http';
import type { Attempt, Callback, Endpoint, Endpoints } from '../../lib/types';
import { Button, Notice, Time } from '../../ui/basics';
import { count } from '../../ui/money';
import { tabOf } from '../../ui/health';
import { CurlButton } from './curl';
import { callbackPage, callbackPath } from './paths';
import { skipReason, whatToDo } from './words';

export interface Resent {
  rewardId: string;
  /** How many attempts it had had. */
  before: number;
}

/** The callback goes out at once where nothing holds it: longer than this, it waits. */
const atOnceMs = 2500;
const askEveryMs = 1500;

function Behind({ callback, endpoint }: { callback: Callback; endpoint: Endpoint | undefined }) {
  const page = path`/apps/${callback.AppId}/${tabOf(callback.Endpoint)}`;
  if (callback.State === 'delivering') return <>Your server has not answered yet.</>;
  switch (endpoint?.Health) {
    case 'disabled':
      return (
        <>
          Its endpoint is disabled after 410s. <a href={page}>Save the URL again</a>, then it is
          sent.
        </>
      );
    case 'app_disabled':
      return <>The app is off. It is sent when the app is on again.</>;
    case 'paused':
      return (
        <>
          Your server asked to wait (Retry-After). The next try is{' '}
          <Time at={endpoint.NextTryAt} short />.
        </>
      );
    case 'suspended':
    case 'host_down':
      return (
        <>
          Behind other tries of <a href={page}>an endpoint that is down</a>: they are made one at a
          time, a second apart.
        </>
      );
  }
  if (callback.OriginalRewardId)
    return (
      <>
        A reversal is sent after its original,{' '}
        <a href={callbackPage(callback.OriginalRewardId)}>{callback.OriginalRewardId}</a>.
      </>
    );
  if (endpoint && endpoint.InFlight > 0 && endpoint.InFlight >= endpoint.Window)
    return (
      <>
        Behind {count(endpoint.InFlight)} callbacks that are under way to the same endpoint, as many
        as it takes at a time.
      </>
    );
  return <>Behind {count(endpoint?.Waiting ?? 0)} callbacks that wait for the same endpoint.</>;
}

function Waits({ callback }: { callback: Callback }) {
  const { data } = useResource<Endpoints>(
    path`/api/v1/apps/${callback.AppId}/endpoints`,
    {},
    { everyMs: askEveryMs },
  );
  const endpoint = data?.Endpoints.find(one => one.Endpoint === callback.Endpoint);
  return data && <Behind callback={callback} endpoint={endpoint} />;
}

function Came({ attempt, body }: { attempt: Attempt; body: string | null }) {
  const took = `after ${duration(attempt.DurationMs)}`;
  const curl = <CurlButton attempt={attempt} body={body} />;
  return attempt.Class === null ? (
    <Notice tone="good" title={`Your server took it: answered ${attempt.Status} ${took}`}>
      {curl}
    </Notice>
  ) : (
    <Notice tone="bad" title={`${attempt.Detail ?? attempt.Class} (${took})`}>
      {whatToDo(attempt)} {curl}
    </Notice>
  );
}

/** The try that was asked for; or what was under way already when it was, and ended the matter. */
function answerOf({ Attempts, State }: Callback, { before }: Resent): Attempt | undefined {
  const since = (Attempts ?? []).filter(one => one.Number > before);
  const isFinal = State !== 'pending' && State !== 'delivering';
  return since.filter(one => one.Manual).pop() ?? (isFinal ? since.pop() : undefined);
}

/** Resending again begins anew: give it a key. */
export function ResendAnswer({ resent, named }: { resent: Resent; named?: boolean }) {
  const [answered, setAnswered] = useState(false);
  const [waits, setWaits] = useState(false);
  const { data } = useResource<Callback>(
    callbackPath(resent.rewardId),
    {},
    { live: !answered, everyMs: answered ? 0 : askEveryMs },
  );
  const attempt = data && answerOf(data, resent);
  const ended = !!attempt || data?.State === 'skipped';
  useEffect(() => setAnswered(ended), [ended]);
  useEffect(() => {
    const timer = setTimeout(() => setWaits(true), atOnceMs);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="stack-small" aria-live="polite">
      {named && (
        <a class="mono" href={callbackPage(resent.rewardId)}>
          {resent.rewardId}
        </a>
      )}
      {attempt && <Came attempt={attempt} body={data!.Body} />}
      {!attempt && data?.State === 'skipped' && <Notice tone="warn">{skipReason(data)}</Notice>}
      {!ended &&
        (waits && data ? (
          <Notice title="It waits">
            <Waits callback={data} />
          </Notice>
        ) : (
          <Notice title="It is being tried" />
        ))}
    </div>
  );
}

/** Of those that were resent together, as many are shown. */
const mostAnswers = 5;

export function ResendAnswers({ resent, onClose }: { resent: Resent[]; onClose: () => void }) {
  if (!resent.length) return null;
  return (
    <section class="card-body stack-small" aria-label="What became of the resends">
      {resent.slice(0, mostAnswers).map(one => (
        <ResendAnswer key={one.rewardId} resent={one} named />
      ))}
      <div class="row apart">
        <span class="quiet">
          {resent.length > mostAnswers && `The log shows the other ${resent.length - mostAnswers}.`}
        </span>
        <Button size="small" onClick={onClose}>
          Close
        </Button>
      </div>
    </section>
  );
}
