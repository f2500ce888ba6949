// What the reports page reads: the range, and the one of the same length before it.
import { everyItem, useRead } from '../../app/resource';
import { may, partnerId } from '../../app/session';
import { addDays, daysBetween } from '../../lib/dates';
import { get, path, type Query } from '../../lib/http';
import type { App, Client, Report, ReportRow } from '../../lib/types';
import type { ReportName } from './data';

export const splits = { client: 'Client', app: 'App', product: 'Product', all: 'Nothing' } as const;
export type Split = keyof typeof splits;

/** Rows as they are split, by product with its name as ClientId, and the undivided ones: products
 * share their panelists, so totals are these rows'. */
export interface Divided {
  rows: ReportRow[];
  whole: ReportRow[];
}

export interface Periods {
  /** Undivided. */
  report: Report;
  now: Divided;
  before: Divided;
}

interface Question {
  name: ReportName;
  query: Query;
  start: string;
  end: string;
  split: Split;
}

const products = { survey: 'Surveys', offer: 'Offers' } as const;

async function readOne(ask: Question, range: Query, signal: AbortSignal) {
  const read = (more: Query) =>
    get<Report>(`/api/v1/reports/${ask.name}`, { ...ask.query, ...range, ...more }, signal);
  const asked = ask.query['productType'];
  const parts = Object.entries(products)
    .filter(([productType]) => ask.split === 'product' && (!asked || asked === productType))
    .map(async ([productType, ClientId]) =>
      (await read({ productType })).Rows.map(row => ({ ...row, ClientId })),
    );
  const [report, ...rows] = await Promise.all([read({}), ...parts]);
  return {
    report,
    divided: { rows: parts.length ? rows.flat() : report.Rows, whole: report.Rows },
  };
}

export async function readPeriods(ask: Question, signal: AbortSignal): Promise<Periods> {
  const length = daysBetween(ask.start, ask.end).length;
  // A range that ends before it begins: the server says what is wrong with it.
  const [{ report, divided }, before] = await Promise.all([
    readOne(ask, {}, signal),
    length
      ? readOne(
          ask,
          { startDate: addDays(ask.start, -length), endDate: addDays(ask.start, -1) },
          signal,
        )
      : null,
  ]);
  return { report, now: divided, before: before?.divided ?? { rows: [], whole: [] } };
}

/** The partner's clients; null where this role may not list apps. */
export function useClients(): Client[] | null {
  const readable = may('apps:read');
  const { data } = useRead(readable ? `clients ${partnerId()}` : null, async signal => {
    const apps = await everyItem<App>(path`/api/v1/partners/${partnerId()}/apps`, {}, signal);
    const all = await Promise.all(
      apps.map(async ({ AppId }) => {
        const own = await everyItem<Client>(path`/api/v1/apps/${AppId}/clients`, {}, signal);
        return own.map(client => ({ ...client, AppId }));
      }),
    );
    return all.flat();
  });
  return data;
}
