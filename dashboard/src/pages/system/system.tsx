// How the installation does, for admins: what /api/v1/system says, read again every few seconds.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useResource } from '../../app/resource';
import { serverNow } from '../../app/session';
import { duration, relative } from '../../lib/dates';
import { Decimal } from '../../lib/decimal';
import type { System } from '../../lib/types';
import {
  Card,
  Facts,
  Loading,
  Metric,
  Notice,
  PageHead,
  ProblemNotice,
  Time,
} from '../../ui/basics';
import { count } from '../../ui/money';
import { ClustersCard } from './clusters';
import { bytes, LimitsCard } from './limits';
import { WorstCard } from './worst';

const everyMs = 3000;

interface Rates {
  eventsPerS: Decimal | null;
  attemptsPerS: Decimal;
}

/** What came between this answer and the one before. */
function useRates(now: System | null): Rates | null {
  const before = useRef<System | null>(null);
  const [rates, setRates] = useState<Rates | null>(null);
  useEffect(() => {
    if (!now) return;
    const last = before.current;
    before.current = now;
    const ms = last ? Date.parse(now.At) - Date.parse(last.At) : 0;
    const events = last ? now.Events.Accepted - last.Events.Accepted : 0;
    const perMinute = Decimal.of(now.Callbacks.DeliveredLastMinute);
    setRates({
      eventsPerS:
        ms > 0 && events >= 0 ? Decimal.of(events * 1000).dividedBy(Decimal.of(ms), 1) : null,
      attemptsPerS: perMinute.dividedBy(Decimal.of(60), 1) ?? Decimal.zero,
    });
  }, [now?.At]);
  return rates;
}

function drainText(seconds: number | null): string {
  if (seconds === null) return 'Nothing is being delivered';
  return seconds === 0 ? 'Nothing waiting' : `Drains in about ${duration(seconds * 1000)}`;
}

function Figures({ system }: { system: System }) {
  const rates = useRates(system);
  const { Callbacks: callbacks, Events: events } = system;
  const oldest = callbacks.OldestPendingAt;
  const lagMs = oldest ? Date.parse(system.At) - Date.parse(oldest) : 0;
  return (
    <div class="grid-5">
      <Metric
        title="Events a second"
        value={rates?.eventsPerS?.format() ?? '–'}
        note={`${count(events.Accepted)} in total`}
      />
      <Metric
        title="Delivered a second"
        value={rates?.attemptsPerS.format() ?? '–'}
        note={`${count(callbacks.Delivered)} in total, ${count(callbacks.InFlight)} in progress`}
      />
      <Metric
        title="Waiting"
        value={count(callbacks.Pending)}
        note={
          system.WorstEndpoints.some(one => one.Endpoint.DrainSeconds === null)
            ? 'Not all are draining'
            : drainText(callbacks.DrainSeconds)
        }
      />
      <Metric
        title="Oldest waiting"
        value={oldest ? duration(Math.max(lagMs, 0)) : '–'}
        note={oldest ? `Accepted ${relative(new Date(oldest), serverNow())}` : 'Nothing waiting'}
      />
      <Metric title="Dead" value={count(callbacks.Dead)} note="Given up" />
    </div>
  );
}

const certificateTitles: Record<string, string> = {
  listener: 'The listener’s certificate',
  clients: 'A client certificate of an app',
  receivers: 'A receiver’s certificate',
};

function Notices({ system }: { system: System }) {
  return (
    <>
      {system.Refusal && (
        <Notice tone="bad" title={`Events are rejected: ${system.Refusal.Bound}`}>
          {system.Refusal.Detail} Callbacks continue.
        </Notice>
      )}
      {system.ClusterList.filter(one => one.State === 'away').map(one => (
        <Notice key={one.Number} tone="bad" title={`Cluster ${one.Number} is away`}>
          It cannot be reached or written. Events of its accounts are rejected, their callbacks
          wait. On the server, <code>postbackd clusters</code> says why.
        </Notice>
      ))}
      {system.Books.WrongDays > 0 && (
        <Notice tone="bad" title="Books do not balance">
          {system.Books.Example}
        </Notice>
      )}
      {system.Certificates.filter(one => one.Soon).map(one => (
        <Notice key={one.Certificate} tone="warn" title="Renew a certificate">
          {certificateTitles[one.Certificate]} expires on <Time at={one.ExpiresAt} />.
        </Notice>
      ))}
      {system.LinkMails.GivenUp > 0 && (
        <Notice tone="warn" title="Links by e-mail failed">
          {count(system.LinkMails.GivenUp)} since the start: invitations or resets that reached
          nobody. Invite those people again, or make a new link on their page.
        </Notice>
      )}
      {system.Messages.GivenUp > 0 && (
        <Notice tone="warn" title="Messages to partners failed">
          {count(system.Messages.GivenUp)} since the start. An OperationsUrl does not answer.
        </Notice>
      )}
    </>
  );
}

function RoomCards({ system }: { system: System }) {
  const { Disk: disk, Memory: memory, Books: books } = system;
  return (
    <div class="grid-2">
      <Card title="Disk and memory">
        <Facts
          items={[
            ['Disk free', disk.FreeBytes ? bytes(disk.FreeBytes) : 'unknown'],
            ['Reserve', bytes(disk.ReserveBytes)],
            ['Journal', bytes(disk.JournalBytes)],
            ['Memory in use', bytes(memory.AllocatedBytes)],
            ['of that, page caches', bytes(memory.PageCacheBytes)],
            ['Allocated, unused', bytes(memory.FreeBytes)],
          ]}
        />
      </Card>
      <Card title="Books, certificates, messages">
        <Facts
          items={[
            [
              'Books',
              books.WrongDays
                ? `${count(books.WrongDays)} days are wrong`
                : 'All checked days balance',
            ],
            ['Last full check', <Time at={books.RoundEndedAt} short ago />],
            ...system.Certificates.map(
              one =>
                [
                  certificateTitles[one.Certificate] ?? one.Certificate,
                  <Time at={one.ExpiresAt} />,
                ] as [string, ComponentChildren],
            ),
            [
              'Messages to partners',
              `${count(system.Messages.Sent)} sent, ${count(system.Messages.Owed)} waiting`,
            ],
            [
              'Links by e-mail',
              `${count(system.LinkMails.Sent)} sent, ${count(system.LinkMails.Owed)} waiting, ${count(system.LinkMails.Failed)} failed tries`,
            ],
          ]}
        />
      </Card>
    </div>
  );
}

export function SystemPage() {
  const { data, problem, reload } = useResource<System>('/api/v1/system', {}, { everyMs });
  const up = data ? Date.parse(data.At) - Date.parse(data.StartedAt) : 0;
  return (
    <div class="page">
      <PageHead
        title="System"
        text={data ? `postbackd ${data.Version}, up for ${duration(up)}.` : undefined}
      />
      <ProblemNotice problem={problem} retry={reload} />
      {!data && !problem && <Loading />}
      {data && (
        <>
          <Notices system={data} />
          <Figures system={data} />
          {(data.ClusterList.length > 1 || data.ClusterList[0]?.Move) && (
            <ClustersCard clusters={data.ClusterList} />
          )}
          <WorstCard system={data} />
          <LimitsCard limits={data.Limits} />
          <RoomCards system={data} />
        </>
      )}
    </div>
  );
}
