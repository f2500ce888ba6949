// One event that must count once, however often its button is pressed or its request is repeated:
// its EventId is made before the first try, stands in the address so that a reload keeps it, and
// is replaced only when the event is known to be stored.
import { query, setQuery } from '../../app/router';
import { post, Problem } from '../../lib/http';
import type { EventsAnswer } from '../../lib/types';

function made(kind: string): string {
  const random = crypto.getRandomValues(new Uint8Array(10));
  return `${kind}-${[...random].map(byte => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** The EventId of the form that is open now. */
export function eventId(kind: string): string {
  const known = query.value.get('event');
  if (known?.startsWith(`${kind}-`)) return known;
  const id = made(kind);
  setQuery({ event: id });
  return id;
}

export function nextEventId(kind: string): void {
  setQuery({ event: made(kind) });
}

/** True: stored by this very request; false: an earlier one had got through. */
export async function sendOnce(event: Record<string, unknown>): Promise<boolean> {
  const answer = await post<EventsAnswer>('/api/v1/events', event);
  const refused = answer.Rejected[0];
  if (refused) {
    const earlier = refused.Errors.some(error => error.Code === 'conflict');
    const why = earlier
      ? 'This form was already submitted with other values. Look that reward up before you send another.'
      : 'The event was rejected. Nothing was paid.';
    throw new Problem(400, why, why, refused.Errors);
  }
  return answer.Accepted === 1;
}
