// Today against the same time yesterday: both up to the end of the last quarter of an hour that is
// over, which is as finely as a day is told.
import { dayMs } from '../../lib/dates';
import { Decimal, sum } from '../../lib/decimal';
import type { Intraday, IntradayRow } from '../../lib/types';

export type PaceField =
  'Earnings' | 'Arpdau' | 'SurveyAttempts' | 'Conversions' | 'ActivePanelists';

export interface Pace {
  /** "14:30" */
  until: string;
  today: Record<PaceField, Decimal | null>;
  yesterday: Record<PaceField, Decimal | null>;
}

const quarterMs = 15 * 60_000;

function sumsUntil(rows: IntradayRow[], endMs: number): Record<PaceField, Decimal | null> {
  const past = rows.filter(row => Date.parse(row.From) % dayMs < endMs);
  const count = (field: Exclude<PaceField, 'Arpdau' | 'Earnings'>) =>
    sum(past.map(row => Decimal.of(row[field])));
  const earned = sum(past.map(row => row.Earnings));
  const active = count('ActivePanelists');
  return {
    Earnings: earned,
    Conversions: count('Conversions'),
    SurveyAttempts: count('SurveyAttempts'),
    ActivePanelists: active,
    Arpdau: earned.dividedBy(active, 6),
  };
}

export function paceOf(today: Intraday, yesterday: Intraday, now: Date): Pace | null {
  const endMs = Math.floor((now.getTime() % dayMs) / quarterMs) * quarterMs;
  // Nothing to compare in the first minutes of a day, or with a day that was not counted whole.
  if (endMs === 0 || !today.Complete || !yesterday.Complete) return null;
  return {
    until: new Date(endMs).toISOString().slice(11, 16),
    today: sumsUntil(today.Rows, endMs),
    yesterday: sumsUntil(yesterday.Rows, endMs),
  };
}
