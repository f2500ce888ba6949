// What became of a resend, shown where it was asked for: the answer of the server, or what the
// callback waits behind.
import { useEffect, useState } from 'preact/hooks';
import { useResource } from '../../app/resource';
import { duration } from '../../lib/dates';
import { get, path, post } from '../../lib/http';
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
  /** For an operator: whose it is. */
  partner?: string;
}

/** Of those that were resent together, as many are shown. */
export const mostAnswers = 5;

/** How many attempts it has had by now: what a page shows may be older. */
async function attemptsOf(rewardId: string, partner?: string): Promise<number> {
  const query = { partnerId: partner };
  return (await get<Callback>(callbackPath(rewardId), query)).AttemptCount;
}

/** shown: its answer is going to be. */
export async function resend(rewardId: string, shown: boolean, partner?: string): Promise<Resent> {
  const before = shown ? await attemptsOf(rewardId, partner) : 0;
  await post(`${callbackPath(rewardId)}/resend`, undefined, { partnerId: partner });
  return { rewardId, before, partner };
}

/** The callback goes out at once where nothing holds it: longer than this, it waits. */
const atOnceMs = 2500;
const askEveryMs = 1500;

interface BehindProps {
  callback: Callback;
  partner: string | undefined;
}

function Behind(props: BehindProps & { endpoint: Endpoint | undefined }) {
  const { callback, partner, endpoint } = props;
  const account = partner ? path`/partners/${partner}` : '';
  const page = account + path`/apps/${callback.AppId}/${tabOf(callback.Endpoint)}`;
  if (callback.State === 'delivering') return <>The server has not answered yet.</>;
  switch (endpoint?.Health) {
    case 'disabled':
      return (
        <>
          The endpoint is disabled because it answered 410. <a href={page}>Save the URL again</a> to
          enable it.
        </>
      );
    case 'app_disabled':
      return <>The app is off. It is sent once the app is on again.</>;
    case 'paused':
      return (
        <>
          The server asked to wait (Retry-After). Next try: <Time at={endpoint.NextTryAt} short />.
        </>
      );
    case 'suspended':
    case 'host_down':
      return (
        <>
          Queued behind other attempts to <a href={page}>an endpoint that is down</a>. They are made
          one at a time, a second apart.
        </>
      );
  }
  if (callback.OriginalRewardId)
    return (
      <>
        A reversal is sent after its original,{' '}
        {partner ? (
          <span class="mono">{callback.OriginalRewardId}</span>
        ) : (
          <a href={callbackPage(callback.OriginalRewardId)}>{callback.OriginalRewardId}</a>
        )}
        .
      </>
    );
  if (endpoint && endpoint.InFlight > 0 && endpoint.InFlight >= endpoint.Window)
    return (
      <>
        Queued behind {count(endpoint.InFlight)} callbacks to the same endpoint, as many as are sent
        to it at a time.
      </>
    );
  return (
    <>Queued behind {count(endpoint?.Waiting ?? 0)} callbacks that wait for the same endpoint.</>
  );
}

function Waits({ callback, partner }: BehindProps) {
  const { data } = useResource<Endpoints>(
    path`/api/v1/apps/${callback.AppId}/endpoints`,
    {},
    { everyMs: askEveryMs },
  );
  const endpoint = data?.Endpoints.find(one => one.Endpoint === callback.Endpoint);
  return data && <Behind callback={callback} partner={partner} endpoint={endpoint} />;
}

interface CameProps {
  attempt: Attempt;
  body: string | null;
  /** An operator looks, who cannot fix the server. */
  operator: boolean;
}

function Came({ attempt, body, operator }: CameProps) {
  const took = `after ${duration(attempt.DurationMs)}`;
  const curl = <CurlButton attempt={attempt} body={body} />;
  return attempt.Class === null ? (
    <Notice tone="good" title={`Delivered: answered ${attempt.Status} ${took}`}>
      {curl}
    </Notice>
  ) : (
    <Notice tone="bad" title={`${attempt.Detail ?? attempt.Class} (${took})`}>
      {!operator && whatToDo(attempt)} {curl}
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
    { partnerId: resent.partner },
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
      {named &&
        (resent.partner ? (
          <span class="mono">{resent.rewardId}</span>
        ) : (
          <a class="mono" href={callbackPage(resent.rewardId)}>
            {resent.rewardId}
          </a>
        ))}
      {attempt && <Came attempt={attempt} body={data!.Body} operator={!!resent.partner} />}
      {!attempt && data?.State === 'skipped' && <Notice tone="warn">{skipReason(data)}</Notice>}
      {!ended &&
        (waits && data ? (
          <Notice title="Waiting">
            <Waits callback={data} partner={resent.partner} />
          </Notice>
        ) : (
          <Notice title="Sending" />
        ))}
    </div>
  );
}

export function ResendAnswers({ resent, onClose }: { resent: Resent[]; onClose: () => void }) {
  if (!resent.length) return null;
  return (
    <section class="card-body stack-small" aria-label="Resend results">
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
