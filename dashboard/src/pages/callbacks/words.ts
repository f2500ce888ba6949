// What a state or a failure means, and what to do about it: the short form of
// docs/partners/errors.md, beside the sentence that the daemon gives with each attempt.
import type { Attempt, Callback, CallbackState, RewardType } from '../../lib/types';
import type { Tone } from '../../ui/basics';
import { countOf } from '../../ui/money';

export const stateTones: Record<CallbackState, Tone> = {
  pending: 'info',
  delivering: 'info',
  delivered: 'good',
  dead: 'bad',
  skipped: 'warn',
};

export const typeTitles: Record<RewardType, string> = {
  survey_completed: 'Survey completed',
  survey_disqualified: 'Survey disqualified',
  profiler_completed: 'Profiler completed',
  ad_hoc: 'Ad hoc reward',
  offer_completed: 'Offer completed',
  offer_clicked: 'Offer clicked',
  offer_completion_reversed: 'Offer reversed',
};

/** The classes of errors, as one chooses among them. */
export const errorTitles: Record<string, string> = {
  status: 'Error status',
  timeout: 'No answer in time',
  refused: 'Connection refused',
  connect_timeout: 'No connection in time',
  reset: 'Connection closed',
  tls: 'TLS or certificate',
  dns: 'Host name not found',
  destination_refused: 'Address not public',
  protocol: 'Not a web server',
  redirect: 'Redirect',
  gone: 'Gone (410)',
  unexpected_answer: 'Wrong answer body',
};

const byClass: Record<string, string> = {
  dns: 'Check the spelling of the host name, and that all your public name servers know it.',
  destination_refused:
    'The host name resolves to an address that is not public. Use a public address or another URL.',
  refused:
    'Start the server or fix the port. A firewall that rejects connections looks the same: allow our addresses.',
  connect_timeout:
    'A firewall drops the packets, the address is wrong, or the host is down. Allow our addresses and try again.',
  tls: 'Fix the certificate. Usually the intermediate certificate is missing: send the full chain.',
  timeout:
    'Queue the callback, answer 200, then process it; or raise the timeout in the app’s settings (at most 30 s). You may have credited it already: the same RewardId is sent again.',
  reset:
    'Your server or a proxy closed the connection before answering: look for a crashed worker or a proxy timeout.',
  protocol:
    'The answer is not HTTP: check the port, and whether the URL must begin with http or https.',
  redirect: 'Redirects are not followed. Set the URL to the address named above.',
  unexpected_answer:
    'Your server answered 2xx, but the body does not match the app’s Success answer setting.',
  gone: 'Your server answered 410, so this URL is switched off. Save the URL again, then resend what was skipped.',
};

const rejected =
  'Your framework rejected the callback: expect unknown fields, decimal numbers and, in JSON, null in OfferGoalId.';

const unavailable = 'Start the server behind your proxy. During a deployment this is normal.';

const byStatus: Record<number, string> = {
  400: rejected,
  401: 'Put credentials in the URL, or accept callbacks by their signature.',
  403: 'A firewall, bot protection or CSRF check blocked it: exempt the path or our addresses.',
  404: 'Fix the path. If your server answers 404 for unknown users, answer 200 instead.',
  405: 'Route POST (or GET, as the app’s Request format says) to this path. A missing slash at the end is a common cause.',
  408: 'Lower the app’s rate or concurrency, or send Retry-After.',
  411: 'Callbacks have a Content-Length: look for a proxy that removes it. If the Request format is GET, accept it without a body.',
  413: 'A proxy rejected the size. Allow bodies of up to 32 KiB; for GET, URLs of up to 16 KiB.',
  414: 'Allow URLs of up to 16 KiB, or shorten the URL.',
  415: 'Accept application/json or, as the app’s Request format says, application/x-www-form-urlencoded or a GET without a body.',
  422: rejected,
  429: 'Lower the app’s rate or concurrency. Retry-After is respected.',
  500: 'Your code failed: look for this RewardId in your logs.',
  502: unavailable,
  503: unavailable,
  504: unavailable,
};

/** What the partner can do about a failed attempt. */
export function whatToDo(attempt: Attempt): string {
  if (attempt.Class === 'status' && attempt.Status !== null) {
    return (
      byStatus[attempt.Status] ?? 'Answer with a 2xx status once you have stored the callback.'
    );
  }
  return byClass[attempt.Class ?? ''] ?? '';
}

const reasons: Record<string, string> = {
  no_url: 'No URL was set. Set one in the app, then resend.',
  disabled:
    'Its endpoint was disabled until after the last attempt was due. Resend it if you still want it.',
  not_wanted:
    'The app does not receive callbacks of this type. Add the type to the app, then resend.',
  not_wanted_test:
    'The app withholds tests, does not receive this type, or got a URL for tests later. Change that in the app, then resend.',
  imported: 'It was imported from another network and is sent only if you resend it.',
};

const givenUp: Record<string, string> = {
  endpoint_down: 'Given up: the endpoint was down for too long.',
  gone: 'Given up: your server answered 410.',
  final_status: 'Given up: your server answered with one of the app’s final statuses.',
};

/** Why a callback was not sent. */
export function skipReason({ Reason, IsTest }: Callback): string {
  const reason = Reason === 'not_wanted' && IsTest ? 'not_wanted_test' : Reason;
  return reasons[reason ?? ''] ?? 'Not sent.';
}

/** Due for so long that not the schedule but its endpoint holds it back. */
export function isHeldBack(callback: Callback, now: Date): boolean {
  const due = callback.NextAttemptAt;
  return callback.State === 'pending' && !!due && now.getTime() - Date.parse(due) > 5000;
}

export const attempts = (n: number): string => countOf(n, 'attempt');

/** Why a dead callback was given up, perhaps without an attempt. */
export function whyGivenUp({ Reason, AttemptCount }: Callback): string {
  return givenUp[Reason ?? ''] ?? `Given up after ${attempts(AttemptCount)}.`;
}

/** One sentence about where a callback stands. */
export function standing(callback: Callback, now: Date): string {
  const tries = callback.AttemptCount;
  switch (callback.State) {
    case 'delivered':
      return tries === 1
        ? 'Delivered at the first attempt.'
        : `Delivered after ${attempts(tries)}.`;
    case 'dead':
      return `${whyGivenUp(callback)} Fix the cause, then resend it.`;
    case 'skipped':
      return skipReason(callback);
    case 'delivering':
      return 'An attempt is in progress.';
    case 'pending':
      if (isHeldBack(callback, now))
        return 'Sent as soon as its endpoint answers. Until then, callbacks are tried one at a time.';
      return tries
        ? `Retried automatically, ${attempts(tries)} so far.`
        : 'Waiting for its first attempt.';
  }
}
