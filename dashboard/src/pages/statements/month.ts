// A month of statements: its days are read one after the other, as each may be much for the server,
// and are shown as they come.
import { useEffect, useState } from 'preact/hooks';
import { partnerId } from '../../app/session';
import { addDays, daysBetween, longDay } from '../../lib/dates';
import { csvOf } from '../../lib/csv';
import { Decimal, sum } from '../../lib/decimal';
import { get, Problem } from '../../lib/http';
import type { Statement, StatementItem } from '../../lib/types';

/** Events are taken for so many days after their own. */
const lateDays = 90;

/** "2026-11"; null: no month, or one that has not begun. */
export function monthOf(text: string | undefined, today: string): string | null {
  return text && /^\d{4}-(0[1-9]|1[0-2])$/.test(text) && text <= today.slice(0, 7) ? text : null;
}

export function lastDayOf(month: string): string {
  return addDays(`${addDays(`${month}-01`, 31).slice(0, 7)}-01`, -1);
}

export function monthBefore(month: string, count = 1): string {
  return count ? monthBefore(addDays(`${month}-01`, -1).slice(0, 7), count - 1) : month;
}

export type MonthState = { title: string; tone: 'info' | 'warn' | 'plain' };

/** What can still change in a month: late events are taken until 90 days after its last day. */
export function stateOf(month: string, today: string): MonthState {
  if (month === today.slice(0, 7)) return { title: 'In progress', tone: 'info' };
  const until = addDays(lastDayOf(month), lateDays);
  if (today <= until) return { title: `Open until ${longDay(until)}`, tone: 'warn' };
  return { title: 'Closed', tone: 'plain' };
}

export interface Row extends StatementItem {
  Day: string;
}

export interface MonthRead {
  rows: Row[];
  /** Of `of` days. */
  read: number;
  of: number;
  problem: Problem | null;
}

const wait = (ms: number, signal: AbortSignal) =>
  new Promise<void>(resolve => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()));
  });

export function useMonth(month: string, today: string): MonthRead {
  const last = lastDayOf(month);
  const days = daysBetween(`${month}-01`, last < today ? last : today);
  const nothing = { rows: [], read: 0, of: days.length, problem: null };
  const [state, setState] = useState<MonthRead>(nothing);
  useEffect(() => {
    const abort = new AbortController();
    const readDay = async (day: string): Promise<boolean> => {
      try {
        const { Items } = await get<Statement>('/api/v1/statements', { day }, abort.signal);
        const own = Items.map(item => ({ ...item, Day: day }));
        setState(old => ({
          ...old,
          rows: [...old.rows, ...own],
          read: old.read + 1,
          problem: null,
        }));
        return true;
      } catch (error) {
        if (abort.signal.aborted) return false;
        if (!(error instanceof Problem)) throw error;
        setState(old => ({ ...old, problem: error }));
        if (error.againS === null) return false;
        await wait(error.againS * 1000, abort.signal);
        return !abort.signal.aborted && readDay(day);
      }
    };
    setState(nothing);
    void (async () => {
      for (const day of days) if (!(await readDay(day))) return;
    })();
    return () => abort.abort();
  }, [month, today, partnerId()]);
  return state;
}

export const waitingOf = (row: StatementItem) =>
  row.Groups.filter(group => group.State === 'pending').reduce((all, one) => all + one.Count, 0);

export interface AppTotal {
  AppId: string;
  Count: number;
  Reward: Decimal;
  /** That its Reward is printed with at least. */
  digits: number;
  RevenueAmount: Decimal;
  waiting: number;
  isFinal: boolean;
}

/** Each app's days added up. */
export function byApp(rows: Row[]): AppTotal[] {
  const ids = [...new Set(rows.map(row => row.AppId))].sort();
  return ids.map(AppId => {
    const own = rows.filter(row => row.AppId === AppId);
    return {
      AppId,
      Count: own.reduce((all, row) => all + row.Count, 0),
      Reward: sum(own.map(row => row.Reward)),
      digits: Math.min(2, Math.max(...own.map(row => row.Reward.scale))),
      RevenueAmount: sum(own.map(row => row.RevenueAmount)),
      waiting: own.reduce((all, row) => all + waitingOf(row), 0),
      isFinal: own.every(row => row.Final),
    };
  });
}

export function csvOfMonth(rows: Row[]): string {
  return csvOf([
    ['Day', 'AppId', 'Final', 'Count', 'Reward', 'RevenueAmount', 'Digest'],
    ...rows.map(row => [
      row.Day,
      row.AppId,
      row.Final,
      row.Count,
      row.Reward,
      row.RevenueAmount,
      row.Digest,
    ]),
  ]);
}
