// What a state or a failure means, and what to do about it: the short form of
// docs/partners/errors.md, beside the sentence that the daemon gives with each attempt.
import type { Attempt, Callback, CallbackState, RewardType } from '../../lib/types';
import type { Tone } from '../../ui/basics';

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
  dns: 'Check the spelling of the host name, and that all your public name servers answer for it.',
  destination_refused:
    'The name leads to an address that is not public. Publish a public address, or configure another URL.',
  refused:
    'Start the server or correct the port. A firewall that rejects looks the same: let our addresses in.',
  connect_timeout:
    'A firewall that drops silently, a wrong address, or a host that is down. Let our addresses in and try again.',
  tls: 'Fix the certificate. Most often the intermediate certificate is missing: send the whole chain.',
  timeout:
    'Put the callback into a queue, answer 200, then work; or raise the time-out in the app’s settings (at most 30 s). You may have credited it: the same RewardId comes again.',
  reset:
    'Your server or a proxy closed the connection before it answered: look for a crashed worker or a proxy’s own time limit.',
  protocol: 'What answered is not a web server: check the port, and http against https.',
  redirect: 'Redirects are not followed. Configure the address that the sentence names as the URL.',
  unexpected_answer:
    'Your server answered 2xx, but its body does not say what the app’s setting Success answer asks for.',
  gone: 'Your server answered 410, so this URL is switched off. Save the URL again, then resend what was skipped.',
};

const byStatus: Record<number, string> = {
  400: 'Your framework refused the body: expect application/json, unknown fields and decimal numbers.',
  401: 'Put credentials into the URL, or let callbacks in by their signature.',
  403: 'A firewall, bot protection or CSRF check stands in front: exempt the path, or our addresses.',
  404: 'Correct the path. If your server says 404 for users it does not know, answer 200 instead.',
  405: 'Route POST to this path; a missing slash at the end is a frequent cause.',
  408: 'Lower the app’s rate or parallel callbacks, or send Retry-After.',
  413: 'A proxy refuses the size; bodies stay below 32 KiB.',
  415: 'Accept application/json.',
  422: 'Your framework refused the body: expect application/json, unknown fields and decimal numbers.',
  429: 'Lower the app’s rate or parallel callbacks; Retry-After is honoured.',
  500: 'Your code failed: look for this RewardId in your logs.',
  502: 'Your proxy did not reach your server. It is tried again; after a deployment there is nothing to do.',
  503: 'Your server said that it is busy or down. It is tried again by itself.',
  504: 'Your proxy did not get an answer from your server in time. It is tried again.',
};

/** What the partner can do about a failed attempt. */
export function whatToDo(attempt: Attempt): string {
  if (attempt.Class === 'status' && attempt.Status !== null) {
    return (
      byStatus[attempt.Status] ?? 'Answer with a 2xx status once the callback is safe with you.'
    );
  }
  return byClass[attempt.Class ?? ''] ?? '';
}

const reasons: Record<string, string> = {
  no_url: 'No URL was configured for it. Set one in the app, then resend.',
  disabled:
    'Its endpoint was disabled until after its last attempt was due. Resend it if it is still wanted.',
  not_wanted: 'The app does not take callbacks of this type. Add the type to it, then resend.',
  imported: 'It was imported from an earlier network and is not sent unless you resend it.',
};

const givenUp: Record<string, string> = {
  endpoint_down: 'It was given up: its endpoint did not come back in time.',
  gone: 'It was given up: your server answered 410 to it.',
  final_status: 'It was given up: your server gave one of the answers that the app calls final.',
};

/** Why a callback was not sent. */
export const skipReason = (callback: Callback): string =>
  reasons[callback.Reason ?? ''] ?? 'It was not sent.';

/** Due for so long that not the schedule but its endpoint holds it back. */
export function isHeldBack(callback: Callback, now: Date): boolean {
  const due = callback.NextAttemptAt;
  return callback.State === 'pending' && !!due && now.getTime() - Date.parse(due) > 5000;
}

/** One sentence about where a callback stands. */
export function standing(callback: Callback, now: Date): string {
  const tries = callback.Attempts?.length ?? 0;
  const attempts = `${tries} attempt${tries === 1 ? '' : 's'}`;
  switch (callback.State) {
    case 'delivered':
      return `Your server took it after ${attempts}.`;
    case 'dead':
      return `${givenUp[callback.Reason ?? ''] ?? `It was given up after ${attempts}.`} Fix the cause, then resend it.`;
    case 'skipped':
      return skipReason(callback);
    case 'delivering':
      return 'An attempt is under way.';
    case 'pending':
      if (isHeldBack(callback, now))
        return 'It is due, and sent as soon as its endpoint answers: until then only one callback at a time is tried.';
      return tries
        ? `It is tried again by itself, after ${attempts} so far.`
        : 'It waits for its first attempt.';
  }
}
