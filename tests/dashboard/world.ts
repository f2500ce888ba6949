// Partners with a past: two accounts, apps whose endpoints do well, fail and refuse, and a month
// of events with the shapes that such traffic has. The same at every start.
import type { Daemon, Receiver } from './daemon';
import { lots } from './slow';

const apps = [
  {
    id: 'farm-friends',
    name: 'Farm Friends',
    clients: ['farm-ios', 'farm-android'],
    currency: 120,
    size: 7,
  },
  { id: 'word-garden', name: 'Word Garden', clients: ['garden-web'], currency: 72.5, size: 4 },
  { id: 'quiz-night', name: 'Quiz Night', clients: ['quiz-iframe'], currency: 100, size: 2 },
];

async function makeAccount(daemon: Daemon, receiver: Receiver, broken: string): Promise<void> {
  await daemon.good('POST', '/api/v1/partners', {
    PartnerId: 'sunny-games',
    Name: 'Sunny Games',
  });
  for (const app of apps) {
    const base = app.id === 'quiz-night' ? broken : receiver.url;
    await daemon.good('POST', '/api/v1/partners/sunny-games/apps', {
      AppId: app.id,
      Name: app.name,
      CurrencyValue: app.currency,
      DisqualificationReward: 2,
      SuccessCallbackUrl: `${base}/${app.id}/success`,
      FailureCallbackUrl: app.id === 'word-garden' ? null : `${base}/${app.id}/failure`,
      OfferCallbackUrl: `${base}/${app.id}/offers`,
    });
    for (const id of app.clients) {
      await daemon.good('POST', `/api/v1/apps/${app.id}/clients`, {
        ClientId: id,
        Name: id,
        Integration: id.includes('iframe') || id.includes('web') ? 'iframe' : 'sdk',
      });
    }
  }
}

type Event = Record<string, unknown>;

/** One panelist's visit: a start, and what came of it. */
function visit(id: string, client: string, at: Date, lot: () => number): Event[] {
  const PanelistId = `player-${1000 + Math.floor(lot() * 400)}`;
  const common = { ClientId: client, PanelistId, SessionId: `s-${id}` };
  const later = new Date(at.getTime() + 240_000).toISOString();
  const events: Event[] = [
    { EventId: `${id}-s`, Type: 'survey_started', Timestamp: at.toISOString(), ...common },
  ];
  const outcome = lot();
  const cents = 35 + Math.floor(lot() * 180);
  if (outcome < 0.42) {
    const RevenueAmount = `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;
    events.push({
      EventId: id,
      Type: 'survey_completed',
      Timestamp: later,
      RevenueAmount,
      ...common,
    });
  } else if (outcome < 0.8) {
    events.push({ EventId: id, Type: 'survey_disqualified', Timestamp: later, ...common });
  } else {
    const offer = {
      OfferId: 4100 + Math.floor(lot() * 9),
      OfferTitle: 'Reach level 20 in Castle Rush',
    };
    events.push({
      EventId: `${id}-c`,
      Type: 'offer_clicked',
      Timestamp: at.toISOString(),
      ...common,
      ...offer,
    });
    if (outcome > 0.93) {
      const done = { RevenueAmount: '4.20', OfferGoalId: '20', ...offer };
      events.push({
        EventId: id,
        Type: 'offer_completed',
        Timestamp: later,
        ...common,
        ...done,
      });
    }
  }
  return events;
}

function history(now: Date, lot: () => number): Event[] {
  const events: Event[] = [];
  for (let age = 34; age >= 0; age--) {
    const midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() - age);
    const weekday = new Date(midnight).getUTCDay();
    const busy = (weekday === 0 || weekday === 6 ? 1.45 : 1) * (1 + (34 - age) / 60);
    for (const app of apps) {
      for (const client of app.clients) {
        const visits = Math.round(app.size * busy * (1.5 + lot()));
        for (let n = 0; n < visits; n++) {
          const at = new Date(midnight + Math.floor(lot() * 86_000_000));
          if (at.getTime() + 300_000 > now.getTime()) continue;
          events.push(...visit(`${client}-${age}-${n}`, client, at, lot));
        }
      }
    }
  }
  return events;
}

async function send(daemon: Daemon, events: Event[], query = ''): Promise<void> {
  for (let i = 0; i < events.length; i += 1000) {
    const { Rejected } = await daemon.good(
      'POST',
      `/api/v1/events${query}`,
      events.slice(i, i + 1000),
    );
    if (Rejected.length) throw new Error(JSON.stringify(Rejected[0]));
  }
}

/** What happens while somebody looks: its callbacks go out. */
function fresh(now: Date, lot: () => number): Event[] {
  const events: Event[] = [];
  for (let n = 0; n < 24; n++) {
    const app = apps[n % apps.length]!;
    const at = new Date(now.getTime() - 600_000 + n * 9000);
    events.push(...visit(`live-${n}`, app.clients[0]!, at, lot));
  }
  return events;
}

export async function makeWorld(daemon: Daemon, receiver: Receiver, broken: string): Promise<void> {
  const now = new Date();
  const lot = lots(7);
  await makeAccount(daemon, receiver, broken);
  await daemon.good('POST', '/api/v1/partners', {
    PartnerId: 'north-studio',
    Name: 'North Studio',
  });
  await daemon.good('POST', '/api/v1/partners/north-studio/apps', {
    AppId: 'ice-runner',
    Name: 'Ice Runner',
    CurrencyValue: 1000,
    SuccessCallbackUrl: `${receiver.url}/ice-runner`,
  });
  await send(daemon, history(now, lot), '?deliver=false');
  await send(daemon, fresh(now, lot));
}
