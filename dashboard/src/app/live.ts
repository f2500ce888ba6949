// What happens now, as the daemon says it. It tells what to read again, never the truth itself:
// pages read their lists anew, at most once a second.
//
// Over HTTP/1.1 a browser opens six connections to a host, for all of its tabs, and a stream holds
// one of them. So the tabs of a session share one: the tab that has the lock listens and passes on
// what it hears. Only visible tabs take part, as hidden ones read nothing: a tab that the browser
// freezes never has the lock. Without locks (pages by plain HTTP have none) each visible tab
// listens for itself.
import { effect, signal } from '../lib/signal';
import { expired, leaving, may, me } from './session';

/** Counts up whenever outcomes have come in: resources that are live read again. */
export const outcomeTick = signal(0);
/** False: nothing comes by itself at the moment, so pages ask now and then. */
export const liveConnected = signal(false);

/** What the stream says, what has become of it, and what a tab that is new asks the others. */
type News = 'hello' | 'callbacks' | 'lost' | 'join' | 'joined';

const refusedWaitMs = 15_000;

function connected(): void {
  liveConnected.value = true;
  outcomeTick.value++; // whatever happened in the gap
}

function take(news: News): void {
  if (news === 'hello' || (news === 'joined' && !liveConnected.value)) connected();
  if (news === 'callbacks') outcomeTick.value++;
  if (news === 'lost') liveConnected.value = false;
}

/** Opens the stream, again and again; gives what ends it. */
function openStream(tell: (news: News) => void): () => void {
  let source: EventSource;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const open = () => {
    source = new EventSource('/api/v1/live');
    for (const kind of ['hello', 'callbacks'] as const)
      source.addEventListener(kind, () => tell(kind));
    source.onerror = () => {
      tell('lost');
      // A refusal ends an EventSource for good; a lost connection comes back by itself.
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(open, refusedWaitMs);
    };
  };
  open();
  return () => {
    clearTimeout(timer);
    source.close();
  };
}

/** Takes part in the stream of this name; gives what ends that. */
function listen(name: string): () => void {
  const tabs = new BroadcastChannel(name);
  const over = new AbortController();
  let leads = false;
  const lead = () =>
    new Promise<void>(resolve => {
      leads = true;
      const close = openStream(news => {
        take(news);
        tabs.postMessage(news);
      });
      over.signal.addEventListener('abort', () => {
        close();
        resolve();
      });
    });
  if (navigator.locks) {
    // Ended while it waits for the lock: there is nothing to do.
    navigator.locks.request(name, { signal: over.signal }, lead).catch(() => {});
    tabs.onmessage = ({ data }: MessageEvent<News>) => {
      if (data !== 'join') take(data);
      else if (leads && liveConnected.value) tabs.postMessage('joined');
    };
    tabs.postMessage('join');
  } else void lead();
  return () => {
    over.abort();
    tabs.close();
    liveConnected.value = false;
  };
}

/** One stream per session and account; it ends with them. */
export function startLive(): void {
  const visible = signal(!document.hidden);
  document.addEventListener('visibilitychange', () => (visible.value = !document.hidden));
  let name = '';
  let stop = () => {};
  effect(() => {
    const listens =
      visible.value && !expired.value && !leaving.value && me.value && may('callbacks:read');
    const wanted = listens
      ? `live ${me.value!.SessionId} ${me.value!.Partner?.PartnerId ?? ''}`
      : '';
    if (wanted === name) return;
    name = wanted;
    stop();
    stop = wanted ? listen(wanted) : () => {};
  });
}
