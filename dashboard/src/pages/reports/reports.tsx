// The five reports: range, clients, product, test events; chart, table and CSV.
import { useState } from 'preact/hooks';
import { everyItem, useRead, useResource } from '../../app/resource';
import { address, query, setQuery } from '../../app/router';
import { may, partnerId, serverNow } from '../../app/session';
import { addDays, dayOf, daysBetween } from '../../lib/dates';
import { Decimal } from '../../lib/decimal';
import { getText, path, type Query } from '../../lib/http';
import type { App, Client, Report, ReportRow } from '../../lib/types';
import {
  Button,
  Card,
  Choices,
  Empty,
  Loading,
  Notice,
  PageHead,
  ProblemNotice,
  Tabs,
  Time,
} from '../../ui/basics';
import { Chart } from '../../ui/chart';
import { FilterCard } from '../../ui/filters';
import { CheckField, SelectField, TextField, useSending } from '../../ui/forms';
import { Cents, count, formatFor } from '../../ui/money';
import { Table, type Column } from '../../ui/table';
import { byClient, reportNames, reports, together, valueOf, type ReportName } from './data';

interface Asked {
  name: ReportName;
  query: Query;
  start: string;
  end: string;
  /** Every digit of amounts; else whole cents. */
  exact: boolean;
}

function asked(): Asked {
  const given = query.value.get('report') as ReportName | null;
  const name = given && reportNames.includes(given) ? given : 'earnings';
  const today = dayOf(serverNow());
  const end = query.value.get('endDate') ?? today;
  const start = query.value.get('startDate') ?? addDays(end, -29);
  const product = reports[name].byProduct ? query.value.get('productType') : null;
  return {
    name,
    start,
    end,
    exact: query.value.get('exact') === 'true',
    query: {
      startDate: start,
      endDate: end,
      clientIds: query.value.get('clientIds'),
      productType: product,
      includeTest: query.value.get('includeTest') === 'true' ? true : undefined,
    },
  };
}

const ranges = [
  { value: '1', title: 'Today' },
  { value: '7', title: '7 days' },
  { value: '30', title: '30 days' },
  { value: '90', title: '90 days' },
  { value: '365', title: 'Year' },
  { value: '', title: 'Other' },
] as const;

/** The partner's clients, for the picker; null where this role may not list apps. */
function useClients(): Client[] | null {
  const readable = may('apps:read');
  const { data } = useRead(readable ? `clients ${partnerId()}` : null, async signal => {
    const apps = await everyItem<App>(path`/api/v1/partners/${partnerId()}/apps`, {}, signal);
    const all = await Promise.all(
      apps.map(app => everyItem<Client>(path`/api/v1/apps/${app.AppId}/clients`, {}, signal)),
    );
    return all.flat();
  });
  return data;
}

function ClientPicker({ value }: { value: string }) {
  const clients = useClients();
  const [open, setOpen] = useState(false);
  const chosen = value ? value.split(',') : [];
  if (!clients?.length) return null;
  const toggle = (id: string, on: boolean) => {
    const next = on ? [...chosen, id] : chosen.filter(other => other !== id);
    setQuery({ clientIds: next.join(',') });
  };
  return (
    <details open={open} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>
        Clients: {chosen.length ? `${chosen.length} of ${clients.length}` : `all ${clients.length}`}
      </summary>
      <div class="grid-3">
        {clients.map(client => (
          <CheckField
            key={client.ClientId}
            label={client.ClientId}
            hint={client.Name && client.Name !== client.ClientId ? client.Name : undefined}
            checked={chosen.includes(client.ClientId)}
            onChange={on => toggle(client.ClientId, on)}
          />
        ))}
      </div>
    </details>
  );
}

function Filters({ ask }: { ask: Asked }) {
  const today = dayOf(serverNow());
  const length = String(daysBetween(ask.start, ask.end).length);
  const range = ask.end === today ? (ranges.find(one => one.value === length)?.value ?? '') : '';
  return (
    <FilterCard set={range !== '30' || !!ask.query['clientIds']}>
      <Choices
        label="Range"
        value={range}
        items={ranges.filter(one => one.value !== '' || range === '')}
        onChange={days =>
          days && setQuery({ startDate: addDays(today, 1 - Number(days)), endDate: today })
        }
      />
      <div class="filters">
        <TextField
          label="From (UTC)"
          type="date"
          max={ask.end}
          value={ask.start}
          onChange={startDate => startDate && setQuery({ startDate })}
        />
        <TextField
          label="To (UTC)"
          type="date"
          min={ask.start}
          value={ask.end}
          onChange={endDate => endDate && setQuery({ endDate })}
        />
        {reports[ask.name].byProduct && (
          <SelectField
            label="Product"
            value={String(ask.query['productType'] ?? '')}
            items={[
              { value: '', title: 'Surveys and offers' },
              { value: 'survey', title: 'Surveys' },
              { value: 'offer', title: 'Offers' },
            ]}
            onChange={productType => setQuery({ productType })}
          />
        )}
        <CheckField
          label="Test events too"
          checked={ask.query['includeTest'] === true}
          onChange={on => setQuery({ includeTest: on ? 'true' : null })}
        />
        {reports[ask.name].money && (
          <CheckField
            label="Exact amounts"
            hint="All digits instead of whole cents."
            checked={ask.exact}
            onChange={on => setQuery({ exact: on ? 'true' : null })}
          />
        )}
      </div>
      <ClientPicker value={String(ask.query['clientIds'] ?? '')} />
    </FilterCard>
  );
}

function CsvButton({ ask }: { ask: Asked }) {
  const sending = useSending();
  const download = () =>
    sending.run(async () => {
      const text = await getText(
        `/api/v1/reports/${ask.name}`,
        { ...ask.query, format: 'csv' },
        'text/csv',
      );
      const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
      const link = document.createElement('a');
      link.href = url;
      link.download = `${ask.name}_${ask.start}_${ask.end}.csv`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
    });
  return (
    <>
      <ProblemNotice problem={sending.problem} />
      <Button busy={sending.busy} onClick={download}>
        Download CSV
      </Button>
    </>
  );
}

const rowsShownMost = 40;

/** An amount as it is asked for, or a count. */
function Value({ value, money, exact }: { value: Decimal; money: boolean; exact: boolean }) {
  return money && !exact ? <Cents amount={value} /> : <>{formatFor(money, exact)(value)}</>;
}

interface ReportTableProps {
  name: ReportName;
  rows: ReportRow[];
  exact: boolean;
}

function ReportTable({ name, rows, exact }: ReportTableProps) {
  const [shown, setShown] = useState(rowsShownMost);
  const kind = reports[name];
  const columns: Column<ReportRow>[] = [
    { title: 'Day', cell: row => <span class="nowrap">{row.Day}</span> },
    { title: 'Client', cell: row => row.ClientId },
  ];
  if (name === 'arpdau') {
    columns.push({
      title: 'Earnings',
      right: true,
      cell: row => <Value value={valueOf(row, 'Earnings')!} money exact={exact} />,
    });
    columns.push({
      title: 'Active panelists',
      right: true,
      cell: row => count(row.ActivePanelists!),
    });
  }
  columns.push({
    title: kind.title,
    right: true,
    cell: row => {
      const value = valueOf(row, kind.field);
      return value ? (
        <Value value={value} money={kind.money} exact={exact} />
      ) : (
        <span class="quiet">–</span>
      );
    },
  });
  const newest = [...rows].reverse();
  return (
    <>
      <Table
        label={kind.title}
        rows={newest.slice(0, shown)}
        rowKey={row => `${row.Day} ${row.ClientId}`}
        columns={columns}
      />
      {rows.length > shown && (
        <div class="table-foot">
          <span class="quiet">
            {count(shown)} of {count(rows.length)} rows; the CSV has them all.
          </span>
          <Button size="small" onClick={() => setShown(shown + 500)}>
            Show more
          </Button>
        </div>
      )}
    </>
  );
}

function Warnings({ report }: { report: Report }) {
  if (!report.Warnings?.length) return null;
  const clients = report.Warnings.map(one => one.ClientId).join(', ');
  return (
    <Notice tone="warn" title={`Survey starts are missing: ${clients}`}>
      {report.Warnings[0]!.Detail}
    </Notice>
  );
}

function ReportBody({ ask, report }: { ask: Asked; report: Report }) {
  const kind = reports[ask.name];
  const days = daysBetween(report.StartDate, report.EndDate);
  const series = byClient(report.Rows, kind.field, days);
  const total = together(report.Rows, kind.field);
  if (!report.Rows.length) {
    return (
      <Card>
        <Empty
          title="Nothing in this range"
          action={
            <Button
              onClick={() =>
                setQuery({
                  startDate: null,
                  endDate: null,
                  clientIds: null,
                  productType: null,
                })
              }
            >
              Show the last 30 days of all clients
            </Button>
          }
        >
          No event of these days and clients has been reported. Test events count only when “Test
          events too” is on.
        </Empty>
      </Card>
    );
  }
  return (
    <>
      <Warnings report={report} />
      <Card
        title={kind.title}
        text={
          total && ask.name !== 'active-panelist' ? (
            <>
              <Value value={total} money={kind.money} exact={ask.exact} />{' '}
              {ask.name === 'arpdau' ? 'over all these days and clients' : 'in all'}, by day and
              client
            </>
          ) : (
            'By day and client'
          )
        }
      >
        <Chart
          title={kind.title}
          days={days}
          series={series}
          kind={ask.name === 'arpdau' ? 'lines' : 'bars'}
          money={kind.money}
          exact={ask.exact}
          height={280}
          lastNote={report.EndDate === dayOf(serverNow()) ? 'so far' : undefined}
        />
      </Card>
      <Card
        title="Rows"
        actions={
          <span class="quiet small">
            As of <Time at={report.GeneratedAt} short />
          </span>
        }
        flush
      >
        <ReportTable
          name={ask.name}
          rows={report.Rows}
          exact={ask.exact}
          key={JSON.stringify(ask.query)}
        />
      </Card>
    </>
  );
}

export function ReportsPage() {
  const ask = asked();
  const { data, problem, loading, reload } = useResource<Report>(
    `/api/v1/reports/${ask.name}`,
    ask.query,
    { everyMs: 60_000 },
  );
  const tab = (name: ReportName) => {
    const all = new URLSearchParams(query.value);
    all.set('report', name);
    return `${address.value.path}?${all.toString()}`;
  };
  return (
    <div class="page">
      <PageHead title="Reports" text={reports[ask.name].text}>
        <CsvButton ask={ask} />
      </PageHead>
      <Tabs
        label="Reports"
        items={reportNames.map(name => ({
          href: tab(name),
          title: reports[name].title,
          current: name === ask.name,
        }))}
      />
      <Filters ask={ask} />
      <ProblemNotice problem={problem} retry={reload} />
      {data ? (
        <ReportBody ask={ask} report={data} />
      ) : (
        loading && !problem && <Loading what="Reading the report" />
      )}
    </div>
  );
}
