// The first page: how today goes, the last thirty days, and whether callbacks arrive.
import { useEffect, useState } from 'preact/hooks';
import { useRead } from '../../app/resource';
import { may, partnerId, serverNow } from '../../app/session';
import { dayMs, dayOf, daysBetween } from '../../lib/dates';
import { Decimal } from '../../lib/decimal';
import { get } from '../../lib/http';
import type { Intraday, Report, ReportRow } from '../../lib/types';
import { Card, Empty, LinkButton, Loading, Metric, PageHead, ProblemNotice } from '../../ui/basics';
import { Chart } from '../../ui/chart';
import { Cents, Change, formatFor } from '../../ui/money';
import { byClient, byDay, together } from '../reports/data';
import { ChecklistCard } from './checklist';
import { DeliveriesCard } from '../deliveries/deliveries';
import { HealthCard } from './health';
import { paceOf, type Pace, type PaceField } from './pace';
import { firstDay, overviewQuestions } from './questions';

interface Month {
  days: string[];
  arpdau: ReportRow[];
  starts: ReportRow[];
  payouts: ReportRow[];
  pace: Pace | null;
}

async function readMonth(end: string, signal: AbortSignal): Promise<Month> {
  const answers = await Promise.all(
    overviewQuestions(end).map(([to, query]) => get<unknown>(to, query, signal)),
  );
  const [today, yesterday] = answers as Intraday[];
  const [arpdau, starts, payouts] = answers.slice(2) as Report[];
  return {
    days: daysBetween(firstDay(end), end),
    arpdau: arpdau!.Rows,
    starts: starts!.Rows,
    payouts: payouts!.Rows,
    pace: paceOf(today!, yesterday!, serverNow()),
  };
}

interface TodayProps {
  title: string;
  value: Decimal | null;
  field: PaceField;
  money: boolean;
  pace: Pace | null;
}

/** Today so far, and how it compares with yesterday by the same time. What is compared is a little
 * older than the value above: whoever points at it sees it. */
function Today({ title, value, field, money, pace }: TodayProps) {
  const format = formatFor(money);
  const then = pace?.yesterday[field] ?? null;
  const ofToday = pace?.today[field] ?? null;
  return (
    <Metric
      title={`${title} today`}
      value={
        value || field !== 'Arpdau' ? (
          money ? (
            <Cents amount={value ?? Decimal.zero} />
          ) : (
            format(value ?? Decimal.zero)
          )
        ) : (
          '–'
        )
      }
      note={
        !pace ? (
          'so far'
        ) : then && !then.isZero ? (
          <>
            <Change now={ofToday} then={then} />{' '}
            <span title={`Today by ${pace.until}: ${ofToday ? format(ofToday) : 'nothing'}`}>
              {format(then)} yesterday by {pace.until}
            </span>
          </>
        ) : (
          `nothing yesterday by ${pace.until}`
        )
      }
    />
  );
}

function Metrics({ month }: { month: Month }) {
  const { days, pace } = month;
  const today = days.slice(-1);
  return (
    <div class="grid-5">
      <Today
        title="Earnings"
        field="Earnings"
        money
        value={byDay(month.arpdau, 'Earnings', today)[0]!}
        pace={pace}
      />
      <Today
        title="Payouts (rewards paid)"
        field="Conversions"
        money={false}
        value={byDay(month.payouts, 'Conversions', today)[0]!}
        pace={pace}
      />
      <Today
        title="Survey starts"
        field="SurveyAttempts"
        money={false}
        value={byDay(month.starts, 'SurveyAttempts', today)[0]!}
        pace={pace}
      />
      <Today
        title="Active panelists"
        field="ActivePanelists"
        money={false}
        value={byDay(month.arpdau, 'ActivePanelists', today)[0]!}
        pace={pace}
      />
      <Today
        title="ARPDAU"
        field="Arpdau"
        money
        value={byDay(month.arpdau, 'Arpdau', today)[0]!}
        pace={pace}
      />
    </div>
  );
}

let wasPainted = false; // since the program began: who comes back finds the page as it was

/** True once what is drawn without them has been painted: charts are four fifths of the page. */
function useIsPainted(isDrawn: boolean): boolean {
  const [isPainted, setPainted] = useState(wasPainted);
  useEffect(() => {
    if (!isDrawn || wasPainted) return;
    requestAnimationFrame(() =>
      setTimeout(() => {
        wasPainted = true;
        setPainted(true);
      }),
    );
  }, [isDrawn]);
  return isPainted;
}

function Charts({ month }: { month: Month }) {
  const { days } = month;
  const earned = together(month.arpdau, 'Earnings');
  const arpdau = together(month.arpdau, 'Arpdau');
  return (
    <>
      <Card
        title="Earnings"
        text={
          <>
            <Cents amount={earned ?? Decimal.zero} /> in the last 30 days, by client
          </>
        }
        actions={
          <LinkButton href="/reports" size="small">
            Open the report
          </LinkButton>
        }
      >
        <Chart
          title="Earnings"
          days={days}
          series={byClient(month.arpdau, 'Earnings', days)}
          kind="bars"
          money
          lastNote="so far"
          height={260}
        />
      </Card>
      <div class="grid-2">
        <Card title="Payouts" text="Number of rewards paid.">
          <Chart
            title="Payouts"
            days={days}
            series={byClient(month.payouts, 'Conversions', days)}
            kind="bars"
            money={false}
            lastNote="so far"
          />
        </Card>
        <Card title="Survey starts">
          <Chart
            title="Survey starts"
            days={days}
            series={byClient(month.starts, 'SurveyAttempts', days)}
            kind="bars"
            money={false}
            lastNote="so far"
          />
        </Card>
        <Card title="Active panelists">
          <Chart
            title="Active panelists"
            days={days}
            series={byClient(month.arpdau, 'ActivePanelists', days)}
            kind="bars"
            money={false}
            lastNote="so far"
          />
        </Card>
        <Card
          title="ARPDAU"
          text={
            arpdau && (
              <>
                <Cents amount={arpdau} /> over the last 30 days, by client
              </>
            )
          }
        >
          <Chart
            title="ARPDAU"
            days={days}
            series={byClient(month.arpdau, 'Arpdau', days)}
            kind="lines"
            money
            lastNote="so far"
          />
        </Card>
      </div>
    </>
  );
}

function passedOfDay(now: Date): string {
  const percent = Math.floor(((now.getTime() % dayMs) * 100) / dayMs);
  return `Days are in UTC. ${percent} % of today has passed.`;
}

export function OverviewPage() {
  const today = dayOf(serverNow());
  const canRead = may('reports:read');
  const month = useRead(
    canRead ? `month ${partnerId()} ${today}` : null,
    signal => readMonth(today, signal),
    { everyMs: 30_000 },
  );
  const isPainted = useIsPainted(!!month.data);
  const hasRows = month.data && (month.data.arpdau.length > 0 || month.data.starts.length > 0);
  return (
    <div class="page">
      <PageHead title="Overview" text={passedOfDay(serverNow())}>
        <LinkButton href="/callbacks">Callbacks</LinkButton>
      </PageHead>
      <ProblemNotice problem={month.problem} retry={month.reload} />
      {month.data ? (
        hasRows ? (
          <>
            <Metrics month={month.data} />
            <HealthCard />
            <ChecklistCard />
            <DeliveriesCard title="Deliveries" />
            {isPainted && <Charts month={month.data} />}
          </>
        ) : (
          <>
            <ChecklistCard />
            <Card>
              <Empty
                title="No events in the last 30 days"
                action={
                  <LinkButton href="/apps" kind="primary">
                    Set up an app
                  </LinkButton>
                }
              >
                Set the callback URLs of an app and try them in the test console. What your
                panelists do appears here within seconds.
              </Empty>
            </Card>
            <HealthCard />
          </>
        )
      ) : (
        !month.problem && <Loading what="Loading the reports" />
      )}
    </div>
  );
}
