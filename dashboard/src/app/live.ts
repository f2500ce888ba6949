// What happens now, as the daemon says it. It tells what to read again, never the truth itself:
// pages read their lists anew, at most once a second.
import { effect, signal } from '@preact/signals';
import { parseJson } from '../lib/json';
import { may, me } from './session';

export interface Counters {
  At: string;
  EventsAccepted: number;
  CallbacksDelivered: number;
  CallbacksDead: number;
  CallbacksPending: number;
  OldestPendingSeconds: number;
}

/** Counts up whenever outcomes have come in: resources that are live read again. */
export const outcomeTick = signal(0);
export const counters = signal<Counters | null>(null);
/** False: nothing comes by itself at the moment, so pages ask now and then. */
export const liveConnected = signal(false);

let source: EventSource | null = null;

function listen(): void {
  source = new EventSource('/api/v1/live');
  const on = (kind: string, take: (data: unknown) => void) =>
    source!.addEventListener(kind, event => take(parseJson((event as MessageEvent<string>).data)));
  on('hello', () => {
    liveConnected.value = true;
    outcomeTick.value++; // whatever happened in the gap
  });
  on('callbacks', () => outcomeTick.value++);
  on('counters', data => (counters.value = data as Counters));
  source.onerror = () => {
    liveConnected.value = false;
    // A refusal ends an EventSource for good; a lost connection comes back by itself.
    if (source?.readyState === EventSource.CLOSED) setTimeout(restart, 15_000);
  };
}

function stop(): void {
  source?.close();
  source = null;
  liveConnected.value = false;
}

function restart(): void {
  stop();
  if (me.value && may('callbacks:read')) listen();
}

/** One stream per session and account; it ends with them. */
export function startLive(): void {
  let listensFor = '';
  effect(() => {
    const who = me.value ? `${me.value.SessionId} ${me.value.Partner?.PartnerId ?? ''}` : '';
    if (who === listensFor) return;
    listensFor = who;
    restart();
  });
}
