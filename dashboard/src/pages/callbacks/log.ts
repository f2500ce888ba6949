// The list of the log: it follows what happens, stands still while somebody reads, and is found
// again as it was left.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useList, type Pages } from '../../app/resource';
import { address, cameBack } from '../../app/router';
import { withQuery, type Query } from '../../lib/http';
import type { Callback, List } from '../../lib/types';

/** As the page was left, with its address. */
interface Left {
  href: string;
  list: List<Callback>;
  scrollY: number;
}
let left: Left | null = null;

const hrefNow = () => withQuery(address.value.path, Object.fromEntries(address.value.query));

/** Where the log was left, with its filters. */
export const logHref = () => left?.href ?? '/callbacks';

/** So far down somebody reads, and does not watch what comes. */
const readingFromPx = 150;
const atMostEveryMs = 4000;
/** What the interface gives at a time; a list that has grown stays. */
const pageRows = 50;

export interface Log extends Pages<Callback> {
  following: boolean;
  /** What stopped it; null: it follows. */
  stopped: 'button' | 'reading' | null;
  pause: () => void;
  follow: () => void;
  /** For the element that is read. */
  reading: { onPointerEnter: () => void; onPointerLeave: () => void };
}

function useScrolled(startY: number): boolean {
  const [scrolled, setScrolled] = useState(Math.max(startY, window.scrollY) > readingFromPx);
  useEffect(() => {
    const moved = () => setScrolled(window.scrollY > readingFromPx);
    window.addEventListener('scroll', moved, { passive: true });
    return () => window.removeEventListener('scroll', moved);
  }, []);
  return scrolled;
}

/** Keeps how it is now for who comes back, and brings back how it was. */
function useLeft(list: Pages<Callback>, start: Left | null): void {
  const now = useRef<Left | null>(null);
  const href = hrefNow();
  if (list.data)
    now.current = {
      href,
      list: { Items: list.data, Next: list.next },
      scrollY: now.current?.scrollY ?? 0,
    };
  useLayoutEffect(() => {
    if (start) window.scrollTo(0, start.scrollY);
    const moved = () => {
      if (now.current) now.current.scrollY = window.scrollY;
    };
    window.addEventListener('scroll', moved, { passive: true });
    return () => {
      window.removeEventListener('scroll', moved);
      left = now.current;
    };
  }, []);
}

export function useLog(filters: Query, selecting: boolean): Log {
  const [start] = useState(() => (cameBack.value && left?.href === hrefNow() ? left : null));
  const [paused, setPaused] = useState(false);
  const [pointed, setPointed] = useState(false);
  const [rows, setRows] = useState(start?.list.Items.length ?? 0);
  const scrolled = useScrolled(start?.scrollY ?? 0);
  const isRead = scrolled || pointed || selecting || rows > pageRows;
  const stopped = paused ? 'button' : isRead ? 'reading' : null;
  const list = useList<Callback>('/api/v1/callbacks', filters, {
    live: !stopped,
    atMostEveryMs,
    start: start?.list ?? null,
  });
  useEffect(() => setRows(list.data?.length ?? 0), [list.data?.length]);
  useLeft(list, start);
  return {
    ...list,
    following: !stopped,
    stopped,
    pause: () => setPaused(true),
    follow: () => {
      setPaused(false);
      setPointed(false);
      window.scrollTo(0, 0);
      list.reload();
    },
    reading: {
      onPointerEnter: () => setPointed(true),
      onPointerLeave: () => setPointed(false),
    },
  };
}
