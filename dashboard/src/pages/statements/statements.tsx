// The months that have a statement, twelve at a time.
import { useRead } from '../../app/resource';
import { query } from '../../app/router';
import { partnerId, serverNow } from '../../app/session';
import { dayOf, longMonth } from '../../lib/dates';
import { sum, type Decimal } from '../../lib/decimal';
import { get, path } from '../../lib/http';
import type { Report } from '../../lib/types';
import { Badge, Card, Empty, LinkButton, Loading, PageHead, ProblemNotice } from '../../ui/basics';
import { Cents, Change } from '../../ui/money';
import { Table } from '../../ui/table';
import { regroup } from '../reports/data';
import { lastDayOf, monthBefore, monthOf, stateOf } from './month';

interface MonthTotal {
  month: string;
  earned: Decimal;
  before: Decimal | null;
}

/** The earnings of twelve months up to `last`, the newest first. */
async function readMonths(last: string, today: string, signal: AbortSignal): Promise<MonthTotal[]> {
  const end = lastDayOf(last);
  const query = {
    startDate: `${monthBefore(last, 11)}-01`,
    endDate: end < today ? end : today,
  };
  const { Rows } = await get<Report>('/api/v1/reports/earnings', query, signal);
  const months = regroup(Rows, 'month', () => 'all').map(row => ({
    month: row.Day.slice(0, 7),
    earned: row.Earnings!,
  }));
  const earnedIn = new Map(months.map(one => [one.month, one.earned]));
  return months
    .map(one => ({ ...one, before: earnedIn.get(monthBefore(one.month)) ?? null }))
    .reverse();
}

function MonthsTable({ months, today }: { months: MonthTotal[]; today: string }) {
  return (
    <Table
      label="Months"
      rows={months}
      rowKey={row => row.month}
      columns={[
        {
          title: 'Month',
          cell: row => <a href={path`/statements/${row.month}`}>{longMonth(`${row.month}-01`)}</a>,
          sort: row => row.month,
          total: 'Total',
        },
        {
          title: 'Revenue (USD)',
          right: true,
          cell: row => <Cents amount={row.earned} />,
          sort: row => row.earned,
          total: <Cents amount={sum(months.map(row => row.earned))} />,
        },
        {
          title: 'Change from the month before',
          right: true,
          // A month that is not over has nothing to be compared with.
          cell: row =>
            row.month !== today.slice(0, 7) && <Change now={row.earned} then={row.before} />,
        },
        {
          title: 'State',
          tight: true,
          cell: row => {
            const { tone, title } = stateOf(row.month, today);
            return <Badge tone={tone}>{title}</Badge>;
          },
        },
      ]}
    />
  );
}

export function StatementsPage() {
  const today = dayOf(serverNow());
  const newest = today.slice(0, 7);
  const last = monthOf(query.value.get('to') ?? undefined, today) ?? newest;
  const { data, problem, reload } = useRead(`months ${partnerId()} ${last} ${today}`, signal =>
    readMonths(last, today, signal),
  );
  return (
    <div class="page">
      <PageHead title="Statements" text="Monthly totals, to check against your own records." />
      <ProblemNotice problem={problem} retry={reload} />
      <Card
        title={`${longMonth(`${monthBefore(last, 11)}-01`)} to ${longMonth(`${last}-01`)}`}
        text="Late events are accepted for 90 days after the last day of a month."
        actions={
          <>
            <LinkButton size="small" href={`/statements?to=${monthBefore(last, 12)}`}>
              Earlier
            </LinkButton>
            {last !== newest && (
              <LinkButton size="small" href="/statements">
                Newest
              </LinkButton>
            )}
          </>
        }
        flush
      >
        {!data && !problem && <Loading what="Loading the months" />}
        {data?.length === 0 && (
          <Empty title="Nothing in these months">A month is listed once it has events.</Empty>
        )}
        {data && data.length > 0 && <MonthsTable months={data} today={today} />}
      </Card>
    </div>
  );
}
