// The statement of one month: what each app's rewards come to, every day with its digest, CSV, and
// how to check it.
import { useState } from 'preact/hooks';
import type { PageProps } from '../../app/routes';
import { query, setQuery } from '../../app/router';
import { partnerId, serverNow } from '../../app/session';
import { saveCsv } from '../../lib/csv';
import { dayOf, longMonth } from '../../lib/dates';
import { Decimal, sum } from '../../lib/decimal';
import { path } from '../../lib/http';
import {
  Badge,
  Button,
  Card,
  Code,
  CopyButton,
  Empty,
  LinkButton,
  Loading,
  PageHead,
  ProblemNotice,
} from '../../ui/basics';
import { SelectField } from '../../ui/forms';
import { Amount, Cents, count } from '../../ui/money';
import { Table } from '../../ui/table';
import { byApp, csvOfMonth, monthOf, stateOf, useMonth, waitingOf, type Row } from './month';

function State({ isFinal, waiting }: { isFinal: boolean; waiting: number }) {
  if (isFinal) return <Badge tone="good">Final</Badge>;
  return <Badge tone="warn">{waiting ? `${count(waiting)} waiting` : 'Open'}</Badge>;
}

const exactly = (amount: Decimal) => <Cents amount={amount} />;

function AppsCard({ rows }: { rows: Row[] }) {
  const apps = byApp(rows);
  return (
    <Card
      title="Apps"
      text="Rewards, with reversals subtracted on their own day. Test events are excluded."
      flush
    >
      <Table
        label="Apps"
        rows={apps}
        rowKey={row => row.AppId}
        columns={[
          {
            title: 'App',
            cell: row => <a href={path`/apps/${row.AppId}`}>{row.AppId}</a>,
            sort: row => row.AppId,
            total: 'Total',
          },
          {
            title: 'Rewards',
            right: true,
            cell: row => count(row.Count),
            sort: row => Decimal.of(row.Count),
            total: count(apps.reduce((all, row) => all + row.Count, 0)),
          },
          {
            title: 'Reward (app’s currency)',
            right: true,
            cell: row => <span class="number nowrap">{row.Reward.format(row.digits)}</span>,
            sort: row => row.Reward,
          },
          {
            title: 'Revenue (USD)',
            right: true,
            cell: row => exactly(row.RevenueAmount),
            sort: row => row.RevenueAmount,
            total: exactly(sum(apps.map(row => row.RevenueAmount))),
          },
          { title: 'State', tight: true, cell: row => <State {...row} /> },
        ]}
      />
    </Card>
  );
}

const shownAtOnce = 62;

function DaysCard({ rows }: { rows: Row[] }) {
  const [most, setMost] = useState(shownAtOnce);
  const apps = [...new Set(rows.map(row => row.AppId))].sort();
  const app = query.value.get('app') ?? '';
  const shown = rows.filter(row => !app || row.AppId === app);
  return (
    <Card title="Days" text="Each day of each app. The same digest means the same rewards." flush>
      {apps.length > 1 && (
        <div class="card-body narrow">
          <SelectField
            label="App"
            value={app}
            items={[{ value: '', title: 'All' }, ...apps.map(value => ({ value, title: value }))]}
            onChange={value => setQuery({ app: value })}
          />
        </div>
      )}
      <Table
        label="Days"
        rows={shown}
        most={most}
        rowKey={row => `${row.Day} ${row.AppId}`}
        columns={[
          {
            title: 'Day',
            tight: true,
            cell: row => row.Day,
            sort: row => row.Day,
            total: 'Total',
          },
          { title: 'App', cell: row => row.AppId, sort: row => row.AppId },
          {
            title: 'Rewards',
            right: true,
            cell: row => count(row.Count),
            sort: row => Decimal.of(row.Count),
            total: count(shown.reduce((all, row) => all + row.Count, 0)),
          },
          {
            title: 'Reward',
            right: true,
            cell: row => <Amount amount={row.Reward} />,
            sort: row => row.Reward,
          },
          {
            title: 'Revenue (USD)',
            right: true,
            cell: row => exactly(row.RevenueAmount),
            sort: row => row.RevenueAmount,
            total: exactly(sum(shown.map(row => row.RevenueAmount))),
          },
          {
            title: 'State',
            tight: true,
            cell: row => <State isFinal={row.Final} waiting={waitingOf(row)} />,
          },
          {
            title: 'Digest',
            tight: true,
            cell: row => (
              <>
                <span class="mono" title={row.Digest}>
                  {row.Digest.slice(0, 12)}…
                </span>
                <CopyButton text={row.Digest} what={`digest of ${row.AppId}, ${row.Day}`} />
              </>
            ),
          },
        ]}
      />
      {shown.length > most && (
        <div class="table-foot">
          <span class="quiet">
            {count(most)} of {count(shown.length)} shown
          </span>
          <Button size="small" onClick={() => setMost(most + 500)}>
            Show more
          </Button>
        </div>
      )}
    </Card>
  );
}

function CheckCard({ day }: { day: string }) {
  return (
    <Card title="Check it against your own records">
      <p>
        <code>postbackd reconcile</code> compares a day with a file of your records (CSV with{' '}
        <code>RewardId</code> and <code>Reward</code>, or NDJSON) and names each reward that is
        missing, doubled, different or unknown. It needs an API key with <code>callbacks:read</code>
        .
      </p>
      <Code
        title="Compare a day"
        lines
        text={`POSTBACKD_API_KEY=YOUR_KEY postbackd reconcile --url ${window.location.origin} --day ${day} records.csv`}
      />
      <p>
        Without it: the digest is the SHA-256 of one line per reward,{' '}
        <code>RewardId, tab, Reward, tab, RevenueAmount, line feed</code>, sorted by the bytes of
        RewardId, with amounts as in the callback’s body. The same digest means that your records
        hold every reward of the day and no other.
      </p>
      <p>
        A day is <strong>open</strong> for 90 days, while late events are accepted, or while one of
        its callbacks is waiting. Then it is <strong>final</strong>.
      </p>
    </Card>
  );
}

export function StatementPage({ params }: PageProps) {
  const today = dayOf(serverNow());
  const month = monthOf(params['Month'], today);
  if (!month)
    return (
      <div class="page">
        <PageHead title="Statement" crumb={{ href: '/statements', title: 'Statements' }} />
        <Card>
          <Empty
            title="No such month"
            action={<LinkButton href="/statements">All months</LinkButton>}
          >
            Write a month as 2026-11. Future months have no statement.
          </Empty>
        </Card>
      </div>
    );
  return <Month month={month} today={today} />;
}

function Month({ month, today }: { month: string; today: string }) {
  const { rows, read, of, problem } = useMonth(month, today);
  const state = stateOf(month, today);
  const isRead = read === of;
  return (
    <div class="page">
      <PageHead
        title={longMonth(`${month}-01`)}
        text="Days are in UTC, by the Timestamp of events, as in the reports."
        crumb={{ href: '/statements', title: 'Statements' }}
      >
        <Badge tone={state.tone}>{state.title}</Badge>
        <Button
          disabled={!isRead || !rows.length}
          onClick={() => saveCsv(`statement_${partnerId()}_${month}.csv`, csvOfMonth(rows))}
        >
          Download CSV
        </Button>
      </PageHead>
      <ProblemNotice problem={problem} />
      {!isRead && <Loading what={`${read} of ${of} days read`} />}
      {isRead && !rows.length && (
        <Card>
          <Empty title="No rewards in this month">
            A statement lists rewards that have a callback, without test events.
          </Empty>
        </Card>
      )}
      {rows.length > 0 && (
        <>
          <AppsCard rows={rows} />
          <DaysCard rows={rows} />
          <CheckCard day={rows.at(-1)!.Day} />
        </>
      )}
    </div>
  );
}
