// What the pages show is what the interface says, digit for digit; and a page that is open lives.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { parseJson } from '../../dashboard/src/lib/json';
import { addDays, dayMs } from '../../dashboard/src/lib/dates';
import { Decimal } from '../../dashboard/src/lib/decimal';
import { paceOf } from '../../dashboard/src/pages/overview/pace';
import { byDay } from '../../dashboard/src/pages/reports/data';
import { change, usd, usdInCents } from '../../dashboard/src/ui/money';
import type { Report } from '../../dashboard/src/lib/types';
import { operatorKey, type Daemon } from './daemon';
import type { Window } from './browser';
import { test } from './runner';
import { theStage, windowOf } from './stage';

async function report(name: string, query = ''): Promise<Report> {
  const { daemon } = await theStage();
  const url = `${daemon.url}/api/v1/reports/${name}?partnerId=sunny-games${query}`;
  const answer = await fetch(url, { headers: { 'X-Api-Key': operatorKey } });
  return parseJson(await answer.text()) as Report;
}

const today = () => new Date().toISOString().slice(0, 10);

test('reading: the overview says what the reports say', async () => {
  const window = await windowOf('owner', 'sunny-games');
  await window.go('/');
  const shown = window.page.locator('.metric', { hasText: 'Earnings' }).locator('.value');
  await window.shows(async () => {
    const { Rows } = await report('earnings');
    const earned = byDay(Rows, 'Earnings', [today()])[0];
    assert.equal(await window.textOf(shown), earned ? usdInCents(earned) : '$0.00');
  });
  for (const title of ['Earnings', 'Payouts', 'Survey starts', 'Active panelists', 'ARPDAU'])
    await window.page.getByRole('img', { name: new RegExp(`^${title}, chart`) }).waitFor();
  await window.close();
});

test('reading: the overview is asked for while the program is still being fetched', async () => {
  const window = await windowOf('owner', 'sunny-games');
  const asked: string[] = [];
  window.page.on('request', request => asked.push(new URL(request.url()).pathname));
  let release = () => {};
  const held = new Promise<void>(resolve => (release = resolve));
  await window.page.route('**/assets/main-*.js', async route => {
    await held;
    await route.continue();
  });
  await window.page.goto(window.origin, { waitUntil: 'commit' });
  const reports = ['arpdau', 'survey-attempts', 'conversions'].map(name => `reports/${name}`);
  await window.shows(() => {
    for (const name of ['session', 'intraday', ...reports])
      assert.ok(asked.includes(`/api/v1/${name}`), name);
  });
  release();
  await window.page.locator('.metric', { hasText: 'Earnings' }).waitFor();
  await window.close();
});

test('reading: today is compared with yesterday by the same time', () => {
  const clock = { now: Date.parse(`${today()}T09:47:00Z`) };
  const at = (day: number, time: string) =>
    new Date(
      Date.parse(`${new Date(clock.now + day * dayMs).toISOString().slice(0, 10)}T${time}Z`),
    );
  const row = (From: Date, Earnings: string, count: number) => ({
    From: From.toISOString(),
    Earnings: Decimal.parse(Earnings)!,
    Conversions: count,
    SurveyAttempts: count,
    ActivePanelists: count,
  });
  const yesterday = {
    Day: '',
    Complete: true,
    Rows: [
      row(at(-1, '00:00:00'), '1.10', 1),
      row(at(-1, '09:30:00'), '0.90', 3),
      row(at(-1, '09:45:00'), '7', 7),
    ],
  };
  const ofToday = {
    ...yesterday,
    Rows: [row(at(0, '09:00:00'), '2.50', 2), row(at(0, '09:45:00'), '9', 9)],
  };
  const pace = paceOf(ofToday, yesterday, new Date(clock.now))!;
  assert.equal(pace.until, '09:45');
  assert.equal(pace.yesterday.Earnings!.toString(2), '2.00');
  assert.equal(change(pace.today.Earnings, pace.yesterday.Earnings), '+25 %');
  assert.equal(change(pace.today.Conversions, pace.yesterday.Conversions), '−50 %');
  assert.equal(pace.yesterday.Arpdau!.toString(), '0.5');
  assert.equal(paceOf(ofToday, { ...yesterday, Complete: false }, new Date(clock.now)), null);
  assert.equal(paceOf(ofToday, yesterday, at(0, '00:14:59')), null, 'nothing is over yet');
});

/** The payouts of a day's quarters that begin before a time of day. */
async function payoutsBy(daemon: Daemon, day: string, until: string): Promise<Decimal> {
  const { Rows } = await daemon.good('GET', `/api/v1/intraday?partnerId=sunny-games&day=${day}`);
  const past = Rows.filter((row: any) => row.From.slice(11, 16) < until);
  return Decimal.of(past.reduce((n: number, row: any) => n + row.Conversions, 0));
}

/** What the overview says of payouts is what the interface says of the same quarters. */
async function noteIsRight(daemon: Daemon, note: string): Promise<void> {
  const until = /by (\d\d:\d\d)/i.exec(note)?.[1];
  if (!until) {
    assert.ok(Date.now() % dayMs < 16 * 60_000, `only in the first quarter of a day: ${note}`);
    return;
  }
  const now = await payoutsBy(daemon, today(), until);
  const then = await payoutsBy(daemon, addDays(today(), -1), until);
  const grown = change(now, then);
  const arrow = now.compare(then) > 0 ? '▲ ' : now.compare(then) < 0 ? '▼ ' : '';
  const want = `By ${until}: ${now.format()} ${arrow}${grown} (yesterday ${then.format()})`;
  assert.equal(note, then.isZero ? `nothing yesterday by ${until}` : want);
}

test('reading: the overview compares today with yesterday', async () => {
  const { daemon } = await theStage();
  const window = await windowOf('owner', 'sunny-games');
  await window.go('/');
  const shown = window.page.locator('.metric', { hasText: 'Payouts' }).locator('.compare');
  await window.shows(async () => noteIsRight(daemon, await window.textOf(shown)));
  await window.close();
});

test('reading: a chart can be read with the arrow keys', async () => {
  const window = await windowOf('owner', 'sunny-games');
  await window.go('/reports');
  const chart = window.page.getByRole('img', { name: /^Earnings, chart/ });
  await chart.focus();
  await chart.press('End');
  await chart.press('ArrowLeft');
  const { Rows, EndDate } = await report('earnings');
  const days = [...new Set(Rows.map(row => row.Day))].sort();
  const day = days.filter(d => d < EndDate).pop()!;
  const together = usdInCents(byDay(Rows, 'Earnings', [day])[0]!);
  await window.page
    .locator('[aria-live]', { hasText: `together ${together}` })
    .waitFor({ state: 'attached' });
  await window.close();
});

test('reading: each report equals its JSON, row for row', async () => {
  const window = await windowOf('analyst', 'sunny-games');
  const columns = {
    earnings: ['Earnings'],
    arpdau: ['Earnings', 'ActivePanelists', 'Arpdau'],
    'survey-attempts': ['SurveyAttempts'],
    conversions: ['Conversions'],
    'active-panelist': ['ActivePanelists'],
  } as const;
  for (const [name, fields] of Object.entries(columns)) {
    const range = `&startDate=${addDays(today(), -20)}&endDate=${today()}`;
    await window.go(`/reports?report=${name}${range}&exact=true`);
    const table = window.page.getByRole('table').last();
    const label = (await table.getAttribute('aria-label'))!;
    await window.shows(async () => {
      const { Rows } = await report(name, range);
      const want = [...Rows].reverse().map(row => [
        row.Day,
        row.ClientId,
        ...fields.map(field => {
          const value = row[field];
          if (value === null || value === undefined) return '–';
          return typeof value === 'number' ? String(value) : usd(value);
        }),
      ]);
      const shown = await window.rows(label);
      assert.ok(shown.length > 20);
      assert.deepEqual(shown, want.slice(0, shown.length), name);
    });
  }
  await window.close();
});

test('reading: filters are in the address, and the CSV is the server’s own', async () => {
  const { daemon } = await theStage();
  const window = await windowOf('owner', 'sunny-games');
  await window.go('/reports');
  await window.button('7 days').click();
  await window.field('Product').selectOption('offer');
  await window.text(/^Clients: all/).click();
  await window.field('farm-ios').check();
  let query = new URLSearchParams();
  await window.shows(() => {
    query = new URL(window.page.url()).searchParams;
    assert.match(String(query), /startDate=.*productType=offer.*clientIds=farm-ios/);
  });
  await window.shows(async () => {
    const clients = (await window.rows('Earnings')).map(row => row[1]);
    assert.deepEqual([...new Set(clients)], ['farm-ios']);
  });
  const [download] = await Promise.all([
    window.page.waitForEvent('download'),
    window.button('Download CSV').click(),
  ]);
  const got = await readFile((await download.path())!, 'utf8');
  query.set('partnerId', 'sunny-games');
  query.set('format', 'csv');
  query.delete('report');
  const answer = await fetch(`${daemon.url}/api/v1/reports/earnings?${query.toString()}`, {
    headers: { 'X-Api-Key': operatorKey },
  });
  assert.equal(got, await answer.text());
  assert.match(got, /^Day,ClientId,Earnings\r\n/);
  await window.close();
});

/** A survey is completed while the log is open: its callback appears there, and is delivered. */
async function follows(daemon: Daemon, window: Window, id: string): Promise<void> {
  await daemon.good('POST', '/api/v1/events', {
    EventId: id,
    Type: 'survey_completed',
    ClientId: 'garden-web',
    PanelistId: 'follower',
    RevenueAmount: '0.35',
  });
  const row = window.page.getByRole('row').filter({ hasText: id });
  await row.getByText('delivered', { exact: true }).waitFor();
}

test('reading: an open page follows what happens', async () => {
  const { daemon } = await theStage();
  const window = await windowOf('owner', 'sunny-games');
  await window.go('/callbacks');
  await follows(daemon, window, 'follow-1');
  await window.close();
});

test('reading: a daemon that dies and comes back while the page is open', async () => {
  const { daemon } = await theStage();
  const window = await windowOf('owner', 'sunny-games');
  window.expect(
    /ERR_CONNECTION_REFUSED/,
    /ERR_INCOMPLETE_CHUNKED_ENCODING/,
    /ERR_EMPTY_RESPONSE/,
    /ERR_CONNECTION_RESET/,
    /status of (429|503)/, // busy, or not ready yet, right after the start
  );
  await window.go('/callbacks');
  await follows(daemon, window, 'before-its-death');
  await daemon.kill();
  await window.see('Can’t reach the server');
  await window.link('before-its-death').waitFor();
  await daemon.run();
  await window.text('Can’t reach the server').waitFor({ state: 'detached' });
  await follows(daemon, window, 'after-its-death');
  await window.close();
});

test('reading: a theme that was chosen stays', async () => {
  const window = await windowOf('owner', 'sunny-games');
  await window.go('/');
  const paper = () =>
    window.page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const isPaper = (colour: string) => window.shows(async () => assert.equal(await paper(), colour));
  const light = await paper();
  await window.button('Dark').click();
  await window.shows(async () => assert.notEqual(await paper(), light));
  const dark = await paper();
  await window.go('/apps');
  await isPaper(dark);
  await window.button('Auto').click();
  await isPaper(light);
  await window.close();
});
