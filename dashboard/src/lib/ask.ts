// Questions to the daemon, and those that are asked before the page that needs their answers is there.
export type Query = Record<string, string | number | boolean | null | undefined>;

export function withQuery(to: string, query?: Query): string {
  const pairs = Object.entries(query ?? {}).filter(
    ([, value]) => value !== null && value !== undefined && value !== '',
  );
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return text ? `${to}?${text}` : to;
}

export function ask(to: string, more?: RequestInit): Promise<Response> {
  return fetch(to, {
    headers: { Accept: 'application/json' },
    credentials: 'same-origin',
    cache: 'no-store',
    redirect: 'error',
    ...more,
  });
}

const keptMs = 10_000;

/** first.ts is a script of its own: what it has asked, the program finds on the window. */
interface Early {
  begun: Map<string, Promise<Response>>;
  /** The program had to ask something itself: whatever is begun from then on, it asks, too. */
  late?: boolean;
  /** Ends when all of it has been answered, or none of it will be. */
  over?: Promise<void>;
}
const shared = globalThis as { early?: Early };
export const early: Early = (shared.early ??= { begun: new Map() });

/** An answer whose text is there with it, and may be read more than once. */
async function whole(to: string): Promise<Response> {
  const answer = await ask(to);
  const text = await answer.text();
  return Object.assign(answer, { text: async () => text });
}

export function begin(to: string): Promise<Response> | undefined {
  if (early.late) return;
  const answer = whole(to);
  answer.catch(() => {}); // whoever takes it is told
  early.begun.set(to, answer);
  setTimeout(() => early.begun.delete(to), keptMs); // later, it would tell of before
  return answer;
}

/** The answer is given once: who asks again wants a newer one. */
export function takeBegun(to: string): Promise<Response> | undefined {
  const answer = early.begun.get(to);
  early.begun.delete(to);
  early.late ||= !answer;
  return answer;
}
