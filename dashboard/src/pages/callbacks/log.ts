// The list of the log: it follows what happens, stands still while somebody reads, and is found
// again as it was left.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useList, type Pages } from '../../app/resource';
import { address, cameBack } from '../../app/router';
import { me, personOf } from '../../app/session';
import { withQuery, type Query } from '../../lib/http';
import type { Callback, List } from '../../lib/types';

/** As the page was left, with its address, and by whom. */
interface Left {
  whose: string;
  href: string;
  pages: List<Callback>[];
  scrollY: number;
}
let left: Left | null = null;

const hrefNow = () => withQuery(address.value.path, Object.fromEntries(address.value.query));
/** An operator who goes on as a partner has left another log. */
const ownLeft = () => (left?.whose === personOf(me.value) ? left : null);

/** Where the log was left, with its filters. */
export const logHref = () => ownLeft()?.href ?? '/callbacks';

const rowsOf = (from: Left | null) =>
  from ? from.pages.reduce((all, page) => all + page.Items.length, 0) : 0;

/** So far down somebody reads, and does not watch what comes. */
const readingFromPx = 150;
const atMostEveryMs = 4000;
/** What the interface gives at a time (LIST_DEFAULT in src/api/query.h); a list that has grown stays. */
const pageRows = 50;

export interface Log<L extends List<Callback>> extends Pages<Callback, L> {
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
      whose: personOf(me.value),
      href,
      pages: list.pages,
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

/** held: it does not follow, whatever happens. */
export function useLog<L extends List<Callback> = List<Callback>>(
  filters: Query,
  held: boolean,
): Log<L> {
  const [start] = useState(() => {
    const own = ownLeft();
    return cameBack.value && own?.href === hrefNow() ? own : null;
  });
  const [paused, setPaused] = useState(false);
  const [pointed, setPointed] = useState(false);
  const [rows, setRows] = useState(() => rowsOf(start));
  const scrolled = useScrolled(start?.scrollY ?? 0);
  const isRead = scrolled || pointed || held || rows > pageRows;
  const stopped = paused ? 'button' : isRead ? 'reading' : null;
  const list = useList<Callback, L>('/api/v1/callbacks', filters, {
    live: !stopped,
    atMostEveryMs,
    start: start?.pages as L[] | undefined,
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
