// What the five reports are called, and their rows turned into series by client.
import { Decimal, sum } from '../../lib/decimal';
import type { ReportRow } from '../../lib/types';
import type { Series } from '../../ui/chart';
import { usd } from '../../ui/money';

export const reportNames = [
  'earnings',
  'arpdau',
  'survey-attempts',
  'conversions',
  'active-panelist',
] as const;
export type ReportName = (typeof reportNames)[number];

type Field = 'Earnings' | 'Arpdau' | 'SurveyAttempts' | 'Conversions' | 'ActivePanelists';

interface Kind {
  title: string;
  field: Field;
  text: string;
  money: boolean;
  byProduct: boolean;
}

export const reports: Record<ReportName, Kind> = {
  earnings: {
    title: 'Earnings',
    field: 'Earnings',
    text: 'USD that your panelists’ surveys and offers earned. A reversal subtracts on its own day.',
    money: true,
    byProduct: true,
  },
  arpdau: {
    title: 'ARPDAU',
    field: 'Arpdau',
    text: 'Average revenue per daily active user: earnings of the day divided by its active panelists.',
    money: true,
    byProduct: true,
  },
  'survey-attempts': {
    title: 'Survey starts',
    field: 'SurveyAttempts',
    text: 'How often a panelist entered a survey.',
    money: false,
    byProduct: false,
  },
  conversions: {
    title: 'Payouts',
    field: 'Conversions',
    text: 'Events in which a panelist was paid and you earned.',
    money: false,
    byProduct: true,
  },
  'active-panelist': {
    title: 'Active panelists',
    field: 'ActivePanelists',
    text: 'Distinct panelists who attempted at least one survey that day.',
    money: false,
    byProduct: false,
  },
};

export function valueOf(row: ReportRow, field: Field): Decimal | null {
  const value = row[field];
  if (value === null || value === undefined) return null;
  return value instanceof Decimal ? value : Decimal.of(value);
}

export function formatFor(money: boolean): (value: Decimal) => string {
  return money ? usd : value => value.format();
}

const shownMost = 5;

/** A series per client, the greatest first; behind the fifth they are added up as "Others". */
export function byClient(rows: ReportRow[], field: Field, days: string[]): Series[] {
  const at = new Map(days.map((day, i) => [day, i]));
  const found = new Map<string, (Decimal | null)[]>();
  for (const row of rows) {
    const i = at.get(row.Day);
    if (i === undefined) continue;
    if (!found.has(row.ClientId))
      found.set(
        row.ClientId,
        days.map(() => null),
      );
    found.get(row.ClientId)![i] = valueOf(row, field);
  }
  const all = [...found]
    .map(([name, values]) => ({ name, values, total: totalOf(values) }))
    .sort((a, b) => b.total.compare(a.total) || (a.name < b.name ? -1 : 1));
  // By name, so that a client has the same colour in every chart.
  const named = (some: typeof all) => some.sort((a, b) => (a.name < b.name ? -1 : 1));
  if (all.length <= shownMost + 1) return named(all);
  const rest = all.slice(shownMost);
  const together = days.map((_, i) => {
    const given = rest.map(one => one.values[i]).filter((v): v is Decimal => Boolean(v));
    return given.length ? sum(given) : null;
  });
  return [...named(all.slice(0, shownMost)), { name: `${rest.length} others`, values: together }];
}

export function totalOf(values: (Decimal | null)[]): Decimal {
  return sum(values.filter((value): value is Decimal => value !== null));
}

/** All clients of one day added up; null where no row has a value. */
export function byDay(rows: ReportRow[], field: Field, days: string[]): (Decimal | null)[] {
  return days.map(day => {
    const given = rows
      .filter(row => row.Day === day)
      .map(row => valueOf(row, field))
      .filter((value): value is Decimal => value !== null);
    return given.length ? sum(given) : null;
  });
}

/** Earnings divided by active panelists, day by day, as the report divides (6 digits). */
export function arpdauByDay(rows: ReportRow[], days: string[]): (Decimal | null)[] {
  const earned = byDay(rows, 'Earnings', days);
  const active = byDay(rows, 'ActivePanelists', days);
  return days.map((_, i) => (active[i] && earned[i] ? earned[i]!.dividedBy(active[i]!, 6) : null));
}
