// What the overview shows below its first figures: whether callbacks arrive, what is still to be set
// up, and the last thirty days. It is fetched when those figures are painted: it is most of the page.
import { Decimal } from '../../lib/decimal';
import { Card, Empty, LinkButton } from '../../ui/basics';
import { Chart } from '../../ui/chart';
import { Cents } from '../../ui/money';
import { DeliveriesCard } from '../deliveries/deliveries';
import { byClient, together } from '../reports/data';
import { ChecklistCard } from './checklist';
import { HealthCard } from './health';
import type { Month } from './overview';

const counts = (month: Month) =>
  [
    {
      title: 'Payouts',
      text: 'Number of rewards paid.',
      rows: month.payouts,
      field: 'Conversions',
    },
    { title: 'Survey starts', text: undefined, rows: month.starts, field: 'SurveyAttempts' },
    { title: 'Active panelists', text: undefined, rows: month.arpdau, field: 'ActivePanelists' },
  ] as const;

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
        {counts(month).map(({ title, text, rows, field }) => (
          <Card key={title} title={title} text={text}>
            <Chart
              title={title}
              days={days}
              series={byClient(rows, field, days)}
              kind="bars"
              money={false}
              lastNote="so far"
            />
          </Card>
        ))}
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

function NoEvents() {
  return (
    <Card>
      <Empty
        title="No events in the last 30 days"
        action={
          <LinkButton href="/apps" kind="primary">
            Set up an app
          </LinkButton>
        }
      >
        Set the callback URLs of an app and try them in the test console. What your panelists do
        appears here within seconds.
      </Empty>
    </Card>
  );
}

/** month: null if nothing happened in it. */
export function OverviewBelow({ month }: { month: Month | null }) {
  if (!month)
    return (
      <>
        <ChecklistCard />
        <NoEvents />
        <HealthCard />
      </>
    );
  return (
    <>
      <HealthCard />
      <ChecklistCard />
      <DeliveriesCard title="Deliveries" />
      <Charts month={month} />
    </>
  );
}
