// Reading from the interface as a page lives: what was read stays on the page while it is read
// again, and a question that nobody waits for any more is dropped.
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { get, Problem, withQuery, type Query } from '../lib/http';
import type { List } from '../lib/types';
import { liveConnected, outcomeTick } from './live';
import { expired } from './session';

export interface Resource<T> {
  data: T | null;
  problem: Problem | null;
  loading: boolean;
  reload: () => void;
  /** Takes what a change has answered: it is newer than whatever is being read. */
  take: (data: T) => void;
}

interface Options {
  /** Read again whenever outcomes of callbacks come in; every 5 s where nothing tells of them. */
  live?: boolean;
  everyMs?: number;
  /** Outcomes that come faster are read together. */
  atMostEveryMs?: number;
}

/** When to read again: something has happened, or time has passed. */
function useBeats(options: Options, beat: (happened: boolean) => void): void {
  const tick = options.live ? outcomeTick.value : 0;
  const everyMs = options.everyMs ?? (options.live ? (liveConnected.value ? 30_000 : 5_000) : 0);
  const first = useRef(true);
  const last = useRef(0);
  useEffect(() => {
    if (first.current) first.current = false;
    else if (options.live) {
      const inMs = last.current + (options.atMostEveryMs ?? 0) - Date.now();
      const go = () => {
        last.current = Date.now();
        if (!document.hidden) beat(true);
      };
      if (inMs <= 0) return go();
      const timer = setTimeout(go, inMs);
      return () => clearTimeout(timer);
    }
    return;
  }, [tick]);
  useEffect(() => {
    if (!everyMs) return;
    const timer = setInterval(() => !document.hidden && beat(false), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
}

/** path null: there is nothing to ask (yet). */
export function useResource<T>(
  path: string | null,
  query?: Query,
  options: Options & { start?: T | null } = {},
): Resource<T> {
  const address = path === null ? null : withQuery(path, query);
  const read = useCallback((signal: AbortSignal) => get<T>(address!, undefined, signal), [address]);
  return useRead<T>(address, address === null ? null : read, options);
}

/** The same for several requests that make one answer; `key` changes when the question does.
 * start: what is known already of the first question, which is then not asked. */
export function useRead<T>(
  key: string | null,
  read: ((signal: AbortSignal) => Promise<T>) | null,
  options: Options & { start?: T | null } = {},
): Resource<T> {
  const [state, setState] = useState<{
    key: string | null;
    data: T | null;
    problem: Problem | null;
  }>({
    key: options.start ? key : null,
    data: options.start ?? null,
    problem: null,
  });
  const known = useRef(!!options.start);
  const [loading, setLoading] = useState(key !== null && !options.start);
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound(n => n + 1), []);
  const busy = useRef(false);
  const reading = useRef<AbortController | null>(null);
  const stale = useRef(false);
  // What is being read may be from before what has happened: it is read once more afterwards.
  useBeats(options, happened => {
    if (!busy.current) reload();
    else if (happened) stale.current = true;
  });

  // Nothing is read until somebody has signed in again; then everything is.
  const isExpired = expired.value;
  // Before the page is painted without it: what has come already is drawn with it at once.
  useLayoutEffect(() => {
    const isKnown = known.current;
    known.current = false;
    if (key === null || !read || isKnown || isExpired) return;
    const abort = new AbortController();
    let retry: ReturnType<typeof setTimeout> | undefined;
    reading.current = abort;
    setLoading(true);
    busy.current = true;
    stale.current = false;
    read(abort.signal)
      .then(data => {
        if (!abort.signal.aborted) setState({ key, data, problem: null });
      })
      .catch((error: unknown) => {
        if (abort.signal.aborted) return;
        if (!(error instanceof Problem)) throw error;
        setState(old => ({ key, data: old.key === key ? old.data : null, problem: error }));
        if (error.againS !== null) retry = setTimeout(reload, error.againS * 1000);
      })
      .finally(() => {
        if (abort.signal.aborted) return;
        busy.current = false;
        setLoading(false);
        if (stale.current) reload();
      });
    return () => {
      abort.abort();
      clearTimeout(retry);
    };
  }, [key, round, isExpired]);

  const take = (data: T) => {
    reading.current?.abort();
    busy.current = false;
    setLoading(false);
    setState({ key, data, problem: null });
  };
  const current = state.key === key;
  return {
    data: current ? state.data : null,
    problem: current ? state.problem : null,
    loading: key !== null && (loading || !current),
    reload,
    take,
  };
}

/** Every item of a list, page after page, up to `most`. */
export async function everyItem<T>(
  path: string,
  query: Query = {},
  signal?: AbortSignal,
  most = 5000,
): Promise<T[]> {
  const items: T[] = [];
  let after: string | null = null;
  do {
    const page: List<T> = await get<List<T>>(path, { limit: 500, ...query, after }, signal);
    items.push(...page.Items);
    after = page.Next;
  } while (after !== null && items.length < most);
  return items;
}

export interface Pages<T, L extends List<T> = List<T>> extends Omit<Resource<T[]>, 'take'> {
  /** As they were read. */
  pages: L[];
  more: boolean;
  loadMore: () => void;
}

/** A list that grows by "Show more". While only its first page is shown, it is kept fresh. */
export function useList<T, L extends List<T> = List<T>>(
  path: string | null,
  query: Query = {},
  options: Options & { start?: L[] } = {},
): Pages<T, L> {
  const address = path === null ? null : withQuery(path, query);
  const first = useResource<L>(path, query, { ...options, start: options.start?.[0] });
  /** problem: why its last "Show more" failed. */
  const [grown, setGrown] = useState<{ of: string | null; pages: L[]; problem?: Problem }>({
    of: address,
    pages: options.start ?? [],
  });
  const anew = () => setGrown({ of: address, pages: [] });
  if (grown.of !== address) anew();
  // Once it has grown, its beginning stays: rows must not move under the reader's eyes.
  const pages = grown.pages[1] ? grown.pages : first.data ? [first.data] : [];
  const next = pages.at(-1)?.Next ?? null;
  const loadMore = () => {
    if (next === null) return;
    // What comes after the list was begun anew belongs to none of its pages.
    const grow = (more: L[], problem?: Problem) =>
      setGrown(old => (old === grown ? { of: address, pages: [...pages, ...more], problem } : old));
    get<L>(path!, { ...query, after: next })
      .then(page => grow([page]))
      .catch((problem: Problem) => grow([], problem));
  };
  const reload = () => {
    anew();
    first.reload();
  };
  return {
    data: pages.length ? pages.flatMap(page => page.Items) : null,
    pages,
    problem: grown.problem ?? first.problem,
    loading: first.loading,
    reload,
    more: next !== null,
    loadMore,
  };
}
