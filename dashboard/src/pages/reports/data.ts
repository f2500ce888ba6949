// What the five reports are called, and their rows turned into series by client.
import { addDays } from '../../lib/dates';
import { Decimal, sum } from '../../lib/decimal';
import type { ReportRow } from '../../lib/types';
import type { Series } from '../../ui/chart';

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
  /** Said where the title misleads: people read money there. */
  counts?: string;
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
    text: 'Number of times a panelist entered a survey.',
    money: false,
    byProduct: false,
  },
  conversions: {
    title: 'Payouts',
    counts: 'number of rewards paid',
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

/** What rows come to together: added up; of a ratio both sides are added up and divided once, as
 * the server divides (6 digits). Null where no row has a value. */
export function together(rows: ReportRow[], field: Field): Decimal | null {
  if (field === 'Arpdau') {
    const earned = together(rows, 'Earnings');
    const active = together(rows, 'ActivePanelists');
    return earned && active ? earned.dividedBy(active, 6) : null;
  }
  const given = rows.map(row => valueOf(row, field)).filter(value => value !== null);
  return given.length ? sum(given) : null;
}

export const steps = ['day', 'week', 'month'] as const;
export type Step = (typeof steps)[number];

/** The first day of the week (Monday), of the month, or the day itself. */
export function beginOf(step: Step, day: string): string {
  if (step === 'day') return day;
  if (step === 'month') return `${day.slice(0, 7)}-01`;
  return addDays(day, -((new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7));
}

/** Rows by step and name instead of by day and client; each is what its rows come to together. */
export function regroup(
  rows: ReportRow[],
  step: Step,
  nameOf: (row: ReportRow) => string,
): ReportRow[] {
  const keyOf = (row: ReportRow) => `${beginOf(step, row.Day)} ${nameOf(row)}`;
  return [...grouped(rows, keyOf)]
    .map(([, own]) => merged(own, beginOf(step, own[0]!.Day), nameOf(own[0]!)))
    .sort((a, b) => (`${a.Day} ${a.ClientId}` < `${b.Day} ${b.ClientId}` ? -1 : 1));
}

function merged(rows: ReportRow[], Day: string, ClientId: string): ReportRow {
  const [first] = rows;
  const one: ReportRow = { Day, ClientId };
  const count = (field: 'SurveyAttempts' | 'Conversions' | 'ActivePanelists') =>
    rows.reduce((all, row) => all + (row[field] ?? 0), 0);
  if (first!.Earnings) one.Earnings = together(rows, 'Earnings')!;
  if (first!.Arpdau !== undefined) one.Arpdau = together(rows, 'Arpdau');
  if (first!.ActivePanelists !== undefined) one.ActivePanelists = count('ActivePanelists');
  if (first!.SurveyAttempts !== undefined) one.SurveyAttempts = count('SurveyAttempts');
  if (first!.Conversions !== undefined) one.Conversions = count('Conversions');
  return one;
}

/** What a name has in a range and in the one before. */
export interface Compared {
  name: string;
  now: Decimal | null;
  then: Decimal | null;
}

export function compare(now: ReportRow[], then: ReportRow[], field: Field): Compared[] {
  const [here, before] = [now, then].map(rows => grouped(rows, row => row.ClientId));
  return [...new Set([...here!.keys(), ...before!.keys()])].sort().map(name => ({
    name,
    now: together(here!.get(name) ?? [], field),
    then: together(before!.get(name) ?? [], field),
  }));
}

const shownMost = 5;

function grouped<K>(rows: ReportRow[], keyOf: (row: ReportRow) => K): Map<K, ReportRow[]> {
  const groups = new Map<K, ReportRow[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group) group.push(row);
    else groups.set(keyOf(row), [row]);
  }
  return groups;
}

/** All clients of each day together; null where there is nothing. */
export function byDay(rows: ReportRow[], field: Field, days: string[]): (Decimal | null)[] {
  const found = grouped(rows, row => row.Day);
  return days.map(day => together(found.get(day) ?? [], field));
}

/** A series per client, the greatest first; those behind the fifth are put together as "others". */
export function byClient(rows: ReportRow[], field: Field, days: string[]): Series[] {
  const shown = new Set(days);
  const clients = [
    ...grouped(
      rows.filter(row => shown.has(row.Day)),
      row => row.ClientId,
    ),
  ]
    .map(([name, own]) => ({ name, own, size: together(own, field) ?? Decimal.zero }))
    .sort((a, b) => b.size.compare(a.size) || (a.name < b.name ? -1 : 1));
  // By name, so that a client has the same colour in every chart.
  const named = (some: typeof clients) =>
    some
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name, own }) => ({ name, values: byDay(own, field, days) }));
  if (clients.length <= shownMost + 1) return named(clients);
  const rest = clients.slice(shownMost).flatMap(one => one.own);
  const others = `${clients.length - shownMost} others`;
  return [
    ...named(clients.slice(0, shownMost)),
    { name: others, values: byDay(rest, field, days) },
  ];
}
