// Where a callback of the list stands: its state in one word, and why it has not arrived. What is
// failing is not merely pending, and what waits behind an endpoint that is down says so.
import { serverNow } from '../../app/session';
import { relative, utcDayTime } from '../../lib/dates';
import { path } from '../../lib/http';
import type { AccountEndpoints, Callback, EndpointHealth } from '../../lib/types';
import { Badge, type Tone } from '../../ui/basics';
import { healthWords, tabOf } from '../../ui/health';
import { partnerPage } from './paths';
import { attempts, isHeldBack, skipReason, stateTones, whyGivenUp } from './words';

/** While an endpoint is so, its callbacks wait for it whatever their schedule says. */
const holding: EndpointHealth[] = ['disabled', 'suspended', 'host_down', 'paused', 'app_disabled'];

interface Held {
  health: EndpointHealth;
  since: string | null;
  error: string | null;
}

/** What holds the callback's endpoint; null: nothing that is known. */
export function heldBy(row: Callback, health: AccountEndpoints | null): Held | null {
  if (row.State !== 'pending' || !health) return null;
  const found = health.NotHealthy.find(
    one => one.AppId === row.AppId && one.Endpoint.Endpoint === row.Endpoint,
  )?.Endpoint;
  if (!found || !holding.includes(found.Health)) return null;
  return { health: found.Health, since: found.Since, error: found.LastError?.Detail ?? null };
}

/** The state in one word. */
export function stateOf(row: Callback, held: Held | null): { tone: Tone; title: string } {
  if (row.State === 'pending' && row.AttemptCount > 0) return { tone: 'warn', title: 'failing' };
  if (held) return { tone: 'warn', title: 'waiting' };
  return { tone: stateTones[row.State], title: row.State };
}

/** The state, and how often it was tried. */
export function Progress({ row, held }: { row: Callback; held: Held | null }) {
  const { tone, title } = stateOf(row, held);
  return (
    <>
      <Badge tone={tone}>{title}</Badge> {row.IsTest && <Badge>test</Badge>}
    </>
  );
}

/** How long ago; when exactly is what one sees who points at it. */
function Ago({ at }: { at: string }) {
  const time = new Date(at);
  return (
    <time dateTime={at} title={utcDayTime(time)}>
      {relative(time, serverNow())}
    </time>
  );
}

export function EndpointLink({ row, held }: { row: Callback; held: Held }) {
  const { title } = healthWords[held.health];
  const page = `${partnerPage(row)}${path`/apps/${row.AppId}/${tabOf(row.Endpoint)}`}`;
  return (
    <>
      <a href={page} aria-label={`Endpoint: ${title}`}>
        {title}
      </a>{' '}
    </>
  );
}

function nextTry(row: Callback, held: Held | null) {
  if (held?.health === 'disabled' || held?.health === 'app_disabled')
    return 'next try when it is enabled';
  if (held || isHeldBack(row, serverNow())) return 'next try when the endpoint answers';
  if (!row.NextAttemptAt) return null;
  return (
    <>
      next try <Ago at={row.NextAttemptAt} />
    </>
  );
}

/** The last status or error in words; before the first attempt, what keeps it from being made. */
function whatCame(row: Callback, held: Held | null): string {
  const last = row.LastAttempt;
  if (last) return last.Detail ?? `Answered ${last.Status}`;
  if (row.State === 'dead') return whyGivenUp(row);
  if (row.AttemptCount) return 'The last attempt is no longer stored';
  return held?.error ? `Waits: this URL failed (${held.error})` : 'No attempt yet';
}

export function Result({ row, held }: { row: Callback; held: Held | null }) {
  if (row.State === 'delivered') return <span class="quiet">{attempts(row.AttemptCount)}</span>;
  if (row.State === 'skipped') return <span title={skipReason(row)}>{skipReason(row)}</span>;
  const next = row.State === 'pending' ? nextTry(row, held) : null;
  return (
    <>
      {held && <EndpointLink row={row} held={held} />}
      <span title={whatCame(row, held)}>{whatCame(row, held)}</span>
      <span class="small quiet">
        {held?.since && (
          <>
            {` · ${healthWords[held.health].title.toLowerCase()} since `}
            <Ago at={held.since} />
          </>
        )}
        {row.AttemptCount > 0 && ` · ${attempts(row.AttemptCount)}`}
        {row.LastAttempt?.At && (
          <>
            {' · '}
            <Ago at={row.LastAttempt.At} />
          </>
        )}
        {next && <> · {next}</>}
      </span>
    </>
  );
}
