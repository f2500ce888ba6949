// Asking the daemon. Every page uses the public interface and nothing else, through here.
import { signal } from './signal';
import { ask, takeBegun, withQuery, type Query } from './ask';
import { parseJson, printJson } from './json';

export { withQuery, type Query };

export interface FieldError {
  Field?: string;
  Parameter?: string;
  Code: string;
  Detail: string;
}

/** What the server says to all requests now passes after so long. */
export const soonS = 3;

/** What came instead of an answer: RFC 9457, or status 0 when nothing came at all. */
export class Problem extends Error {
  /** When to ask again; null: the same would come. */
  readonly againS: number | null;

  constructor(
    readonly status: number,
    readonly title: string,
    readonly detail: string,
    readonly errors: FieldError[] = [],
    retryAfterS: number | null = null,
  ) {
    super(detail || title);
    this.againS = status === 0 || status === 503 ? soonS : retryAfterS;
  }

  /** The sentence about one field of a body or query, as it stands below it. */
  of(name: string): string | undefined {
    const detail = this.errors.find(error => (error.Field ?? error.Parameter) === name)?.Detail;
    return detail && detail[0]!.toUpperCase() + detail.slice(1);
  }

  has(code: string, field: string): boolean {
    return this.errors.some(error => error.Code === code && error.Field === field);
  }
}

export interface Answer<T> {
  data: T;
  etag: string | null;
  headers: Headers;
}

/** Given with every change, once a session is there. */
export const csrfToken = signal<string | null>(null);
/** Called when a session that was there is there no more. */
export const onSignedOut: { handler: () => void } = { handler: () => {} };
/** False from the first request that nobody answered to the next that somebody does. */
export const reachable = signal(true);

export function path(strings: TemplateStringsArray, ...ids: (string | number)[]): string {
  return strings.reduce((all, part, i) => all + encodeURIComponent(String(ids[i - 1])) + part);
}

interface Options {
  query?: Query;
  body?: unknown;
  ifMatch?: string | null;
  signal?: AbortSignal;
  accept?: string;
}

async function send(method: string, to: string, options: Options): Promise<Response> {
  const headers: Record<string, string> = { Accept: options.accept ?? 'application/json' };
  let body: string | undefined;
  if (options.body !== undefined) {
    headers['Content-Type'] = 'application/json';
    body = printJson(options.body);
  }
  if (options.ifMatch) headers['If-Match'] = options.ifMatch;
  if (method !== 'GET' && csrfToken.value) headers['X-Csrf-Token'] = csrfToken.value;
  try {
    const address = withQuery(to, options.query);
    const begun = method === 'GET' && !options.accept && takeBegun(address);
    const answer = await (begun || ask(address, { method, headers, body, signal: options.signal }));
    reachable.value = true;
    return answer;
  } catch (error) {
    if (options.signal?.aborted) throw error;
    reachable.value = false;
    throw new Problem(
      0,
      'Can’t reach the server',
      'It may be restarting, or your network may be down. Retrying every few seconds.',
    );
  }
}

async function problemOf(answer: Response): Promise<Problem> {
  const after = answer.headers.get('Retry-After');
  const retryAfterS = after && /^\d+$/.test(after) ? Number(after) : null;
  try {
    const body = parseJson(await answer.text()) as Record<string, unknown>;
    return new Problem(
      answer.status,
      String(body['title'] ?? answer.statusText),
      String(body['detail'] ?? ''),
      (body['errors'] as FieldError[] | undefined) ?? [],
      retryAfterS,
    );
  } catch {
    return new Problem(answer.status, answer.statusText || `Status ${answer.status}`, '');
  }
}

export async function request<T>(
  method: string,
  to: string,
  options: Options = {},
): Promise<Answer<T>> {
  const answer = await send(method, to, options);
  if (!answer.ok) {
    const problem = await problemOf(answer);
    if (answer.status === 401 && csrfToken.value) onSignedOut.handler();
    throw problem;
  }
  const text = await answer.text();
  const data = (text ? parseJson(text) : null) as T;
  return { data, etag: answer.headers.get('ETag'), headers: answer.headers };
}

export const get = async <T>(to: string, query?: Query, signal?: AbortSignal): Promise<T> =>
  (await request<T>('GET', to, { query, signal })).data;

export const post = async <T>(to: string, body?: unknown, query?: Query): Promise<T> =>
  (await request<T>('POST', to, { body, query })).data;

export const remove = async (to: string, query?: Query): Promise<void> => {
  await request('DELETE', to, { query });
};

/** As the server wrote it: for CSV. */
export async function getText(to: string, query: Query, accept: string): Promise<string> {
  const answer = await send('GET', to, { query, accept });
  if (!answer.ok) throw await problemOf(answer);
  return answer.text();
}
