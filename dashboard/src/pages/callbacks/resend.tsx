// Sending again what was selected, or all that match the filters once their number was seen.
import { useState } from 'preact/hooks';
import { useRead } from '../../app/resource';
import { query } from '../../app/router';
import { partnerId, serverNow } from '../../app/session';
import { get, post, Problem } from '../../lib/http';
import type { Callback, CallbackState, List } from '../../lib/types';
import { Button, Loading, Notice, ProblemNotice } from '../../ui/basics';
import { useSending } from '../../ui/forms';
import { count, countOf } from '../../ui/money';
import { Dialog, say } from '../../ui/overlay';
import { mostAnswers, resend, type Resent } from './answer';
import { asked } from './filters';
import { follow, ratePerSecond } from './recover';

/** Sends each of them, one after the other. Those that cannot be sent any more (409: the body is
 * gone) stop none of the others. */
export function useResending(onDone: (unsent: string[], sent: Resent[]) => void) {
  const [done, setDone] = useState<number | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [gone, setGone] = useState<string[]>([]);
  const run = async (ids: string[]) => {
    const unsent: string[] = [];
    const sent: Resent[] = [];
    setProblem(null);
    setGone(unsent);
    for (const [i, rewardId] of ids.entries()) {
      setDone(i);
      try {
        sent.push(await resend(rewardId, sent.length < mostAnswers));
      } catch (error) {
        if ((error as Problem).status !== 409) {
          setProblem(error as Problem);
          setDone(null);
          return;
        }
        unsent.push(rewardId);
      }
    }
    setDone(null);
    setGone(unsent);
    say(`${sent.length} resent.`);
    /* Those that were sent are not selected any more. */
    onDone(unsent, sent);
  };
  return { done, problem, gone, run, busy: done !== null };
}

export type Resending = ReturnType<typeof useResending>;

export function ResendingState({ resending, of }: { resending: Resending; of: number }) {
  const { problem, gone, done } = resending;
  return (
    <>
      <ProblemNotice problem={problem} />
      {gone.length > 0 && (
        <Notice title="Not resent">
          Their bodies are no longer stored: {gone.join(', ')}. Open one to see why.
        </Notice>
      )}
      {done !== null && <progress class="progress" value={done} max={of} aria-label="Resent" />}
    </>
  );
}

/** At most so many are sent one by one. */
const mostIds = 500;
const mostPages = 20;

interface Match {
  matched: number;
  /** Null: the daemon sends the range by itself. */
  ids: string[] | null;
  more: boolean;
}

/** What a recovery can be asked for; null: the filters say more than that. */
function rangeOf(): Record<string, unknown> | null {
  const { rewardId, panelistId, rewardType, class: errors, status, state, ...rest } = asked();
  if (rewardId || panelistId || rewardType || errors || status) return null;
  if (state === 'delivering' || state === 'failing') return null;
  const states: CallbackState[] = state ? [state as CallbackState] : ['pending', 'dead', 'skipped'];
  return {
    AppId: rest['appId'] || undefined,
    From: rest['from'] || '1970-01-01T00:00:00Z',
    To: rest['to'] || new Date(serverNow().getTime() + 60_000).toISOString(),
    States: states,
    RatePerSecond: ratePerSecond,
  };
}

/** The first that match; what is delivered only where it was asked for. */
async function collect(signal: AbortSignal): Promise<Match> {
  const ids: string[] = [];
  const filters = asked();
  let after: string | null = null;
  for (let page = 0; page < mostPages && (page === 0 || after) && ids.length <= mostIds; page++) {
    const found: List<Callback> = await get<List<Callback>>(
      '/api/v1/callbacks',
      { ...filters, limit: 500, bodies: false, after },
      signal,
    );
    const meant = found.Items.filter(row => filters['state'] || row.State !== 'delivered');
    ids.push(...meant.map(row => row.RewardId));
    after = found.Next;
  }
  const shown = ids.slice(0, mostIds);
  return { matched: shown.length, ids: shown, more: after !== null || ids.length > mostIds };
}

async function preview(signal: AbortSignal): Promise<Match> {
  const range = rangeOf();
  if (!range) return collect(signal);
  const { Matched } = await post<{ Matched: number }>('/api/v1/callbacks/recover', {
    ...range,
    DryRun: true,
  });
  return { matched: Matched, ids: null, more: false };
}

function Preview({ match }: { match: Match }) {
  if (match.matched === 0) return <p>No undelivered callback matches the filters.</p>;
  return (
    <>
      <p>
        <strong>
          {countOf(match.matched, 'callback')} {match.matched === 1 ? 'matches' : 'match'}
        </strong>{' '}
        the filters{match.more ? '. These are the newest, and more match' : ''}. RewardId and body
        stay the same, so your server can ignore what it has already credited.
      </p>
      {!query.value.get('state') && (
        <p class="quiet">
          Delivered callbacks are not included. To resend them, filter by that state.
        </p>
      )}
      {!match.ids && (
        <p class="quiet">
          They are sent at up to {ratePerSecond} per second. The log shows the progress.
        </p>
      )}
    </>
  );
}

export function ResendMatching({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const [key] = useState(() => `matching ${partnerId()} ${query.value} ${Date.now()}`);
  const match = useRead<Match>(key, preview);
  const sending = useSending();
  const resending = useResending(unsent => {
    onDone();
    if (!unsent.length) onClose();
  });
  const send = async ({ ids }: Match) => {
    if (ids) return resending.run(ids);
    const { RecoveryId } = await post<{ RecoveryId: string }>(
      '/api/v1/callbacks/recover',
      rangeOf(),
    );
    follow(RecoveryId);
    onClose();
  };
  const found = match.data;
  return (
    <Dialog title="Resend all matching" onClose={onClose}>
      {!found && !match.problem && <Loading what="Counting" />}
      {found && <Preview match={found} />}
      <ResendingState resending={resending} of={found?.matched ?? 1} />
      <ProblemNotice problem={match.problem ?? sending.problem} />
      <div class="row end">
        <Button onClick={onClose}>Cancel</Button>
        {found && found.matched > 0 && (
          <Button
            kind="primary"
            busy={sending.busy || resending.busy}
            onClick={() => sending.run(() => send(found))}
          >
            Resend {count(found.matched)}
          </Button>
        )}
      </div>
    </Dialog>
  );
}
