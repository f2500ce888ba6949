// What the pages show is what the interface says, digit for digit; and a page that is open lives.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { parseJson } from '../../dashboard/src/lib/json';
import { dayMs } from '../../dashboard/src/lib/dates';
import { Decimal } from '../../dashboard/src/lib/decimal';
import { change, paceOf } from '../../dashboard/src/pages/overview/pace';
import { byDay } from '../../dashboard/src/pages/reports/data';
import { usd } from '../../dashboard/src/ui/money';
import type { Report } from '../../dashboard/src/lib/types';
import { until } from './daemon';
import { test } from './runner';
import { theStage, windowOf } from './stage';
import { operatorKey } from './daemon';

async function report(name: string, query = ''): Promise<Report> {
  const { daemon } = await theStage();
  const url = `${daemon.url}/api/v1/reports/${name}?partnerId=sunny-games${query}`;
  const answer = await fetch(url, { headers: { 'X-Api-Key': operatorKey } });
  return parseJson(await answer.text()) as Report;
}

test('reading: the overview says what the reports say', async () => {
  const { world } = await theStage();
  const window = await windowOf('owner', 'sunny-games');
  await (await window.go('/')).settled();
  const today = world.now.toISOString().slice(0, 10);
  const { Rows } = await report('earnings');
  const earned = byDay(Rows, 'Earnings', [today])[0];
  const shown = window.page.locator('.metric', { hasText: 'Earnings' }).locator('.value');
  assert.equal(await shown.textContent(), earned ? usd(earned) : '$0.00');
  for (const title of ['Earnings', 'Payouts', 'Survey starts', 'Active panelists', 'ARPDAU'])
    await window.page.getByRole('img', { name: new RegExp(`^${title}, chart`) }).waitFor();
  await window.close();
});

test('reading: today is compared with yesterday by the same time', async () => {
  const { daemon, world } = await theStage();
  const clock = { now: Date.parse(`${world.now.toISOString().slice(0, 10)}T09:47:00Z`) };
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
  const today = {
    ...yesterday,
    Rows: [row(at(0, '09:00:00'), '2.50', 2), row(at(0, '09:45:00'), '9', 9)],
  };
  const pace = paceOf(today, yesterday, new Date(clock.now))!;
  assert.equal(pace.until, '09:45');
  assert.equal(pace.yesterday.Earnings!.toString(2), '2.00');
  assert.equal(change(pace.today.Earnings, pace.yesterday.Earnings), '+25 %');
  assert.equal(change(pace.today.Conversions, pace.yesterday.Conversions), '−50 %');
  assert.equal(pace.yesterday.Arpdau!.toString(), '0.5');
  assert.equal(paceOf(today, { ...yesterday, Complete: false }, new Date(clock.now)), null);
  assert.equal(paceOf(today, yesterday, at(0, '00:14:59')), null, 'nothing is over yet');

  const window = await windowOf('owner', 'sunny-games');
  await (await window.go('/')).settled();
  const shown = window.page.locator('.metric', { hasText: 'Payouts' }).locator('.compare');
  const note = (await shown.textContent())!;
  const until = /by (\d\d:\d\d)/.exec(note)?.[1];
  if (until) {
    const payoutsOf = async (ms: number) => {
      const day = new Date(ms).toISOString().slice(0, 10);
      const { Rows } = await daemon.good(
        'GET',
        `/api/v1/intraday?partnerId=sunny-games&day=${day}`,
      );
      const past = Rows.filter((r: any) => r.From.slice(11, 16) < until);
      return past.reduce((n: number, r: any) => n + r.Conversions, 0);
    };
    const now = Decimal.of(await payoutsOf(Date.now()));
    const then = Decimal.of(await payoutsOf(Date.now() - dayMs));
    const grown = change(now, then);
    const want = `${now.format()} by ${until}: ${grown} on ${then.format()} yesterday`;
    assert.equal(note, then.isZero ? `nothing yesterday by ${until}` : want);
  } else {
    assert.ok(Date.now() % dayMs < 16 * 60_000, 'only in the first quarter of a day');
  }
  await window.close();
});

test('reading: a chart can be read with the arrow keys', async () => {
  const window = await windowOf('owner', 'sunny-games');
  await (await window.go('/reports')).settled();
  const chart = window.page.getByRole('img', { name: /^Earnings, chart/ });
  await chart.focus();
  await chart.press('End');
  await chart.press('ArrowLeft');
  const { Rows, EndDate } = await report('earnings');
  const days = [...new Set(Rows.map(row => row.Day))].sort();
  const day = days.filter(d => d < EndDate).pop()!;
  const together = usd(byDay(Rows, 'Earnings', [day])[0]!);
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
    const today = new Date().toISOString().slice(0, 10);
    const range = `&startDate=${today.slice(0, 8)}01&endDate=${today}`;
    await (await window.go(`/reports?report=${name}${range}`)).settled();
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
    const table = window.page.getByRole('table').first();
    const label = (await table.getAttribute('aria-label'))!;
    const shown = await window.rows(label);
    assert.ok(shown.length > 20);
    assert.deepEqual(shown, want.slice(0, shown.length), name);
  }
  await window.close();
});

test('reading: filters are in the address, and the CSV is the server’s own', async () => {
  const { daemon } = await theStage();
  const window = await windowOf('owner', 'sunny-games');
  await (await window.go('/reports')).settled();
  await window.button('7 days').click();
  await window.field('Product').selectOption('offer');
  await window.text(/^Clients: all/).click();
  await window.field('farm-ios').check();
  await until('the address has the filters', async () =>
    /startDate=.*productType=offer.*clientIds=farm-ios/.test(window.page.url()),
  );
  await window.settled();
  assert.ok((await window.rows('Earnings')).every(row => row[1] === 'farm-ios'));
  const [download] = await Promise.all([
    window.page.waitForEvent('download'),
    window.button('Download CSV').click(),
  ]);
  const got = await readFile((await download.path())!, 'utf8');
  const query = new URL(window.page.url()).searchParams;
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

test('reading: an open page follows what happens', async () => {
  const { daemon } = await theStage();
  const window = await windowOf('owner', 'sunny-games');
  await (await window.go('/callbacks')).settled();
  await daemon.good('POST', '/api/v1/events', {
    EventId: 'follow-1',
    Type: 'survey_completed',
    ClientId: 'garden-web',
    PanelistId: 'follower',
    RevenueAmount: '0.35',
  });
  await window.link('follow-1').waitFor();
  const row = window.page.getByRole('row').filter({ hasText: 'follow-1' });
  await row.getByText('delivered').waitFor();
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
    /status of 503/,
  );
  await (await window.go('/callbacks')).settled();
  await daemon.kill();
  await window.see('The daemon does not answer');
  await window.link('follow-1').waitFor();
  await daemon.run();
  await window.text('The daemon does not answer').waitFor({ state: 'detached' });
  await daemon.good('POST', '/api/v1/events', {
    EventId: 'follow-2',
    Type: 'survey_completed',
    ClientId: 'garden-web',
    PanelistId: 'follower',
    RevenueAmount: '0.35',
  });
  await window.link('follow-2').waitFor();
  await window.close();
});

test('reading: a theme that was chosen stays', async () => {
  const window = await windowOf('owner', 'sunny-games');
  await window.go('/');
  const paper = () =>
    window.page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await paper();
  await window.button('Dark').click();
  const dark = await paper();
  assert.notEqual(light, dark);
  await window.go('/apps');
  assert.equal(await paper(), dark);
  await window.button('Auto').click();
  await until('it is light again', async () => (await paper()) === light);
  await window.close();
});
