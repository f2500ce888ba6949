// What each partner earned in a period, for the operator.
import { everyItem, useRead } from '../../app/resource';
import { query, setQuery } from '../../app/router';
import { serverNow } from '../../app/session';
import { csvOf, saveCsv } from '../../lib/csv';
import { addDays, dayOf } from '../../lib/dates';
import { Decimal, sum } from '../../lib/decimal';
import { path } from '../../lib/http';
import type { PartnerEarnings } from '../../lib/types';
import { Button, Card, Choices, Empty, Loading, PageHead, ProblemNotice } from '../../ui/basics';
import { TextField } from '../../ui/forms';
import { Cents, count } from '../../ui/money';
import { Table, type Column } from '../../ui/table';

const shownMost = 500;

interface Period {
  startDate: string;
  endDate: string;
}

const monthStart = (day: string) => `${day.slice(0, 7)}-01`;

/** This month so far, and the whole month before it. */
export function monthsTo(today: string): { now: Period; before: Period } {
  const endDate = addDays(monthStart(today), -1);
  return {
    now: { startDate: monthStart(today), endDate: today },
    before: { startDate: monthStart(endDate), endDate },
  };
}

export function readEarnings(period: Period, signal: AbortSignal): Promise<PartnerEarnings[]> {
  return everyItem<PartnerEarnings>('/api/v1/earnings', { ...period }, signal);
}

/** Of all rows: sums, and a ratio that is divided once. */
function totals(rows: PartnerEarnings[]) {
  const earned = sum(rows.map(row => row.Earnings));
  const add = (of: (row: PartnerEarnings) => number) => rows.reduce((all, row) => all + of(row), 0);
  const active = add(row => row.ActivePanelists);
  return {
    earned,
    active,
    arpdau: earned.dividedBy(Decimal.of(active), 6),
    starts: add(row => row.SurveyAttempts),
    payouts: add(row => row.Conversions),
  };
}

function columnsFor(rows: PartnerEarnings[]): Column<PartnerEarnings>[] {
  const all = totals(rows);
  const counted = (
    title: string,
    of: (row: PartnerEarnings) => number,
    total: number,
  ): Column<PartnerEarnings> => ({
    title,
    right: true,
    cell: row => count(of(row)),
    sort: row => Decimal.of(of(row)),
    total: count(total),
  });
  return [
    {
      title: 'Partner',
      cell: row => <a href={path`/partners/${row.PartnerId}`}>{row.Name || row.PartnerId}</a>,
      sort: row => (row.Name || row.PartnerId).toLowerCase(),
      total: 'Total',
    },
    {
      title: 'Earnings (USD)',
      right: true,
      cell: row => <Cents amount={row.Earnings} />,
      sort: row => row.Earnings,
      total: <Cents amount={all.earned} />,
    },
    counted('Payouts', row => row.Conversions, all.payouts),
    counted('Survey starts', row => row.SurveyAttempts, all.starts),
    counted('Active panelists (sum of days)', row => row.ActivePanelists, all.active),
    {
      title: 'ARPDAU',
      right: true,
      cell: row => (row.Arpdau ? <Cents amount={row.Arpdau} /> : '–'),
      sort: row => row.Arpdau,
      total: all.arpdau ? <Cents amount={all.arpdau} /> : '–',
    },
  ];
}

function csvOfEarnings(rows: PartnerEarnings[]): string {
  const names = [
    'PartnerId',
    'Name',
    'Earnings',
    'Conversions',
    'SurveyAttempts',
    'ActivePanelists',
    'Arpdau',
  ] as const;
  return csvOf([[...names], ...rows.map(row => names.map(name => row[name]))]);
}

/** The greatest first; sorting keeps that among equals. */
const byEarnings = (rows: PartnerEarnings[]) =>
  [...rows].sort((a, b) => b.Earnings.compare(a.Earnings));

export function EarningsPage() {
  const today = dayOf(serverNow());
  const months = monthsTo(today);
  const period: Period = {
    startDate: query.value.get('startDate') ?? months.now.startDate,
    endDate: query.value.get('endDate') ?? today,
  };
  const is = (other: Period) =>
    other.startDate === period.startDate && other.endDate === period.endDate;
  const { data, problem, reload } = useRead(JSON.stringify(period), signal =>
    readEarnings(period, signal),
  );
  const rows = data && byEarnings(data);
  return (
    <div class="page">
      <PageHead
        title="Earnings"
        text="What each partner earned. Days are in UTC. Tests are not counted."
      >
        <Button
          disabled={!rows?.length}
          onClick={() =>
            saveCsv(`earnings_${period.startDate}_${period.endDate}.csv`, csvOfEarnings(rows!))
          }
        >
          Download CSV
        </Button>
      </PageHead>
      <Card>
        <Choices
          label="Period"
          value={is(months.now) ? 'now' : is(months.before) ? 'before' : ''}
          items={[
            { value: 'now', title: 'This month' },
            { value: 'before', title: 'Last month' },
          ]}
          onChange={name => setQuery({ ...(name === 'before' ? months.before : months.now) })}
        />
        <div class="filters">
          <TextField
            label="From (UTC)"
            type="date"
            max={period.endDate}
            value={period.startDate}
            onChange={startDate => startDate && setQuery({ startDate, endDate: period.endDate })}
          />
          <TextField
            label="To (UTC)"
            type="date"
            min={period.startDate}
            value={period.endDate}
            onChange={endDate => endDate && setQuery({ startDate: period.startDate, endDate })}
          />
        </div>
      </Card>
      <ProblemNotice problem={problem} retry={reload} />
      <Card flush>
        {!rows && !problem && <Loading what="Loading the earnings" />}
        {rows?.length === 0 && <Empty title="No partner yet" />}
        {rows && rows.length > 0 && (
          <Table
            label="Earnings"
            rows={rows}
            most={shownMost}
            rowKey={row => row.PartnerId}
            columns={columnsFor(rows)}
          />
        )}
        {rows && rows.length > shownMost && (
          <div class="table-foot">
            <span class="quiet">
              Showing {shownMost} of {count(rows.length)}. The CSV has all of them.
            </span>
          </div>
        )}
      </Card>
    </div>
  );
}
