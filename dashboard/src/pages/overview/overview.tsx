// The first page: how today goes, and behind its first painting what is in below.tsx.
import { lazy } from '../../app/lazy';
import { loadOthers } from '../../app/others';
import { useRead } from '../../app/resource';
import { may, partnerId, serverNow } from '../../app/session';
import { dayMs, dayOf, daysBetween } from '../../lib/dates';
import { Decimal } from '../../lib/decimal';
import { get } from '../../lib/http';
import type { Intraday, Report, ReportRow } from '../../lib/types';
import { LinkButton, Loading, Metric, PageHead, ProblemNotice } from '../../ui/basics';
import { Cents, Change, formatFor } from '../../ui/money';
import { byDay } from '../reports/data';
import { paceOf, type Pace, type PaceField } from './pace';
import { firstDay, overviewQuestions } from './questions';

export interface Month {
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

/** Today so far, and how it compares with yesterday: both by a time that is a little older than the
 * value above, and so with a value of its own. */
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
            By {pace.until}: {ofToday ? format(ofToday) : 'nothing'}{' '}
            <Change now={ofToday} then={then} /> (yesterday {format(then)})
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

function passedOfDay(now: Date): string {
  const percent = Math.floor(((now.getTime() % dayMs) * 100) / dayMs);
  return `Days are in UTC. ${percent} % of today has passed.`;
}

const Below = lazy(async () => (await loadOthers()).OverviewBelow);

export function OverviewPage() {
  const today = dayOf(serverNow());
  const canRead = may('reports:read');
  const month = useRead(
    canRead ? `month ${partnerId()} ${today}` : null,
    signal => readMonth(today, signal),
    { everyMs: 30_000 },
  );
  const hasRows = month.data && (month.data.arpdau.length > 0 || month.data.starts.length > 0);
  return (
    <div class="page">
      <PageHead title="Overview" text={passedOfDay(serverNow())}>
        <LinkButton href="/callbacks">Callbacks</LinkButton>
      </PageHead>
      <ProblemNotice problem={month.problem} retry={month.reload} />
      {month.data ? (
        <>
          {hasRows && <Metrics month={month.data} />}
          <Below month={hasRows ? month.data : null} />
        </>
      ) : (
        !month.problem && <Loading what="Loading the reports" />
      )}
    </div>
  );
}
