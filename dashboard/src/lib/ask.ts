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

const begun = new Map<string, Promise<Response>>();

export function begin(to: string): Promise<Response> {
  const answer = ask(to);
  answer.catch(() => {}); // whoever takes it is told
  begun.set(to, answer);
  setTimeout(() => begun.delete(to), keptMs); // later, it would tell of before
  return answer;
}

/** The answer is given once: who asks again wants a newer one. */
export function takeBegun(to: string): Promise<Response> | undefined {
  const answer = begun.get(to);
  begun.delete(to);
  return answer;
}
