// Who looks. Roles are the server's business: pages ask only whether a scope is there.
import { signal } from '../lib/signal';
import { csrfToken, get, onSignedOut, Problem, remove } from '../lib/http';
import type { Scope, Session, SignedIn } from '../lib/types';

export const session = signal<Session | null>(null);
export const sessionProblem = signal<Problem | null>(null);
/** True after a session ended by itself: one signs in again over the page, which stays as it is. */
export const expired = signal(false);
/** The daemon's clock less this one's, for "today" and ages. */
export const clockOffsetMs = signal(0);

export const me = {
  get value() {
    return session.value?.SignedIn ? (session.value as SignedIn) : null;
  },
};

/** Who looks at which account: nothing of a page stays for another one. */
export const personOf = (who: SignedIn | null) =>
  `${who?.User.UserId} ${who?.Partner?.PartnerId ?? ''} ${who?.ActingAs}`;

/** The other tabs of this browser have the same cookie, and so the same session. */
const tabs = new BroadcastChannel('session');
tabs.onmessage = () => void loadSession();

/** Takes what a change of the session has answered; the other tabs read theirs anew. */
export function takeSession(given: Session): void {
  adopt(given);
  tabs.postMessage('changed');
}

function adopt(given: Session): void {
  csrfToken.value = given.SignedIn ? given.CsrfToken : null;
  if (given.SignedIn) clockOffsetMs.value = Date.parse(given.ServerTime) - Date.now();
  session.value = given;
  expired.value = false;
}

export async function loadSession(): Promise<void> {
  const before = session.value;
  try {
    const given = await get<Session>('/api/v1/session');
    // Somebody may have signed in while it was read: then it tells of before that.
    if (session.value === before) adopt(given);
    sessionProblem.value = null;
  } catch (error) {
    sessionProblem.value = error as Problem;
  }
}

/** While the session is being ended: nothing is begun with it that goes on by itself. */
export const leaving = signal(false);

export async function signOut(): Promise<void> {
  leaving.value = true;
  try {
    await remove('/api/v1/session');
    takeSession({ SignedIn: false, SetUpNeeded: false });
  } finally {
    leaving.value = false;
  }
}

onSignedOut.handler = () => {
  csrfToken.value = null;
  expired.value = true;
};

export function may(scope: Scope): boolean {
  const scopes = me.value?.Scopes ?? [];
  return scopes.includes(scope) || scopes.includes('admin');
}

export function serverNow(): Date {
  return new Date(Date.now() + clockOffsetMs.value);
}

/** The account that partner pages are about. */
export function partnerId(): string {
  return me.value?.Partner?.PartnerId ?? '';
}
