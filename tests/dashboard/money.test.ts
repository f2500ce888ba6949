// What many clients come to together: a ratio is divided once, never added up; and amounts as people
// read them.
import assert from 'node:assert/strict';
import { addDays } from '../../dashboard/src/lib/dates';
import { Decimal } from '../../dashboard/src/lib/decimal';
import type { ReportRow } from '../../dashboard/src/lib/types';
import {
  beginOf,
  byClient,
  byDay,
  compare,
  regroup,
  together,
} from '../../dashboard/src/pages/reports/data';
import { usdInCents } from '../../dashboard/src/ui/money';
import type { Daemon } from './daemon';
import type { Window } from './browser';
import { test } from './runner';
import { theStage, windowOf } from './stage';

const clientCount = 8;

const row = (Day: string, client: number, earned: string, active: number): ReportRow => ({
  Day,
  ClientId: `client-${client}`,
  Earnings: Decimal.parse(earned)!,
  ActivePanelists: active,
  Arpdau: active ? Decimal.parse(earned)!.dividedBy(Decimal.of(active), 6) : null,
});

test('money: of clients that are put together ARPDAU is divided once', () => {
  const day = '2026-11-20';
  const rows = Array.from({ length: clientCount }, (_, n) => row(day, n, `${100 - n}.00`, 60 + n));
  const others = byClient(rows, 'Arpdau', [day]).at(-1)!;
  assert.equal(others.name, '3 others');
  // 95 + 94 + 93 by 65 + 66 + 67
  assert.equal(others.values[0]!.toString(), '1.424242');
  assert.equal(byDay(rows, 'Arpdau', [day])[0]!.toString(), '1.519685');
  const twice = [...rows, ...rows.map(one => ({ ...one, Day: '2026-11-21' }))];
  assert.equal(together(twice, 'Arpdau')!.toString(), '1.519685', 'whatever the number of days');
  assert.equal(together([row(day, 1, '0', 0)], 'Arpdau'), null, 'nobody was active');
  assert.equal(together(twice, 'Earnings')!.toString(2), '1544.00');
});

test('money: cents are rounded half away from zero, and less than one is not nothing', () => {
  const cents = (text: string) => usdInCents(Decimal.parse(text)!);
  assert.deepEqual(['1.519685', '1.525', '-1.525', '1234.5', '0', '0.004', '-0.004'].map(cents), [
    '$1.52',
    '$1.53',
    '−$1.53',
    '$1,234.50',
    '$0.00',
    '<$0.01',
    '−<$0.01',
  ]);
});

let made: Promise<string> | null = null;

/** A partner with eight clients and events of one day; gives the day. */
async function makeOneDay(daemon: Daemon): Promise<string> {
  const day = addDays(new Date().toISOString().slice(0, 10), -1);
  await daemon.good('POST', '/api/v1/partners', { PartnerId: 'one-day', Name: 'One Day' });
  const app = { AppId: 'day-app', CurrencyValue: 100 };
  await daemon.good('POST', '/api/v1/partners/one-day/apps', app);
  const events: unknown[] = [];
  for (let n = 0; n < clientCount; n++) {
    const ClientId = `day-${n}`;
    await daemon.good('POST', '/api/v1/apps/day-app/clients', { ClientId, Integration: 'sdk' });
    const common = { ClientId, Timestamp: `${day}T12:00:00Z` };
    for (let panelist = 0; panelist < 3 + n; panelist++)
      events.push({
        ...common,
        EventId: `day-${n}-${panelist}`,
        Type: 'survey_started',
        PanelistId: `p-${panelist}`,
      });
    events.push({
      ...common,
      EventId: `day-${n}-paid`,
      Type: 'survey_completed',
      PanelistId: 'p-0',
      RevenueAmount: `${20 - n}.00`,
    });
  }
  await daemon.good('POST', '/api/v1/events?deliver=false', events);
  return day;
}

async function oneDay(): Promise<string> {
  const { daemon } = await theStage();
  return (made ??= makeOneDay(daemon));
}

async function chartSays(window: Window, title: string): Promise<string> {
  const chart = window.page.getByRole('img', { name: new RegExp(`^${title}, chart`) });
  await chart.focus();
  await chart.press('End');
  return window.textOf(window.page.locator('[aria-live]', { hasText: 'others' }).first());
}

test('money: ARPDAU of one day and eight clients is drawn, and said in cents', async () => {
  const day = await oneDay();
  const window = await windowOf('owner', 'one-day');
  await window.go(`/reports?report=arpdau&startDate=${day}&endDate=${day}`);
  // 20 + ... + 13 by 3 + ... + 10; others: 15 + 14 + 13 by 8 + 9 + 10
  await window.see(/\$2\.54 for all these days and clients/);
  await window.shows(async () =>
    assert.equal(await window.page.locator('.chart svg circle.point').count(), 6),
  );
  assert.match(await chartSays(window, 'ARPDAU'), /3 others: \$1\.56(,|$)/);
  const values = async () => (await window.rows('ARPDAU')).map(cells => cells.at(-1));
  await window.shows(async () => assert.equal((await values())[0], '$1.30'));
  await window.field('Exact amounts').check();
  await window.shows(async () => assert.equal((await values())[1], '$1.555556'));
  await window.see(/\$2\.538462 for all these days and clients/);
  await window.close();
});

test('money: an axis of counts has whole numbers', async () => {
  const day = await oneDay();
  const window = await windowOf('owner', 'one-day');
  const range = `startDate=${day}&endDate=${day}`;
  await window.go(`/reports?report=conversions&${range}&clientIds=day-0`);
  await window.shows(async () => {
    const labels = await window.page.locator('.chart svg text.axis').allTextContents();
    assert.ok(labels.includes('1'), String(labels));
    assert.ok(!labels.some(label => /[.]/.test(label)), String(labels));
  });
  await window.close();
});

test('money: weeks and months come from sums that are divided once', () => {
  assert.equal(beginOf('week', '2026-11-22'), '2026-11-16', 'a Sunday ends its week');
  assert.equal(beginOf('week', '2026-11-23'), '2026-11-23');
  assert.equal(beginOf('month', '2026-02-28'), '2026-02-01');
  const rows = [
    row('2026-11-21', 1, '10', 4),
    row('2026-11-22', 1, '20', 1),
    row('2026-11-23', 1, '7', 2),
    row('2026-11-23', 2, '0', 0),
  ];
  const weeks = regroup(rows, 'week', one => one.ClientId);
  assert.deepEqual(
    weeks.map(one => [one.Day, one.ClientId, one.Arpdau?.toString() ?? null, one.ActivePanelists]),
    [
      ['2026-11-16', 'client-1', '6', 5],
      ['2026-11-23', 'client-1', '3.5', 2],
      ['2026-11-23', 'client-2', null, 0],
    ],
  );
  const all = regroup(rows, 'month', () => 'All');
  assert.equal(all[0]!.Earnings!.toString(), '37');
  const [first, second] = compare(rows.slice(2), rows.slice(0, 2), 'Earnings');
  assert.deepEqual([first!.now!.toString(), first!.then!.toString()], ['7', '30']);
  assert.deepEqual([second!.name, second!.then], ['client-2', null]);
});

async function tableOf(window: Window, label: string): Promise<string[][]> {
  return (await window.rows(label)).map(cells => cells.map(text => text.replace(/\s+/g, ' ')));
}

test('money: tables have totals, are sorted, and stand beside the period before', async () => {
  const day = await oneDay();
  const window = await windowOf('owner', 'one-day');
  await window.go(`/reports?startDate=${addDays(day, 1)}&endDate=${addDays(day, 1)}&split=app`);
  await window.see('Nothing in this range');
  await window.go(`/reports?startDate=${day}&endDate=${day}`);
  const first = async () => (await tableOf(window, 'Earnings'))[0];
  await window.shows(async () => assert.deepEqual(await first(), [day, 'day-7', '$13.00']));
  await window.page.getByRole('table', { name: 'Earnings' }).getByText('Total').waitFor();
  const foot = window.page.getByRole('table', { name: 'Earnings' }).locator('tfoot td');
  await window.shows(async () => assert.equal(await foot.last().innerText(), '$132.00'));
  const heading = window.page.getByRole('table', { name: 'Earnings' }).getByRole('button', {
    name: 'Earnings',
  });
  await heading.click();
  await window.shows(async () => assert.deepEqual(await first(), [day, 'day-0', '$20.00']));
  await heading.click();
  await window.shows(async () => assert.deepEqual(await first(), [day, 'day-7', '$13.00']));
  await window.field('Split by').selectOption('app');
  await window.shows(async () => assert.deepEqual(await first(), [day, 'day-app', '$132.00']));
  await window.field('Split by').selectOption('product');
  await window.shows(async () => assert.deepEqual(await first(), [day, 'Surveys', '$132.00']));
  await window.close();
});

test('money: products share their panelists, so a total by product counts each once', async () => {
  const day = await oneDay();
  const window = await windowOf('owner', 'one-day');
  await window.go(`/reports?report=arpdau&startDate=${day}&endDate=${day}`);
  const totals = () => window.page.locator('tfoot tr').allInnerTexts();
  await window.see('Compared with the period before');
  const whole = await totals();
  assert.equal(whole.length, 2);
  await window.field('Split by').selectOption('product');
  await window.page.getByRole('table', { name: 'ARPDAU' }).getByText('Surveys').waitFor();
  assert.deepEqual(await totals(), whole);
  await window.close();
});

test('money: a year is weeks, and the period before is a number and an arrow', async () => {
  const window = await windowOf('owner', 'sunny-games');
  await window.go('/reports');
  await window.button('Year').click();
  await window.shows(async () => {
    const days = (await tableOf(window, 'Earnings')).map(cells => cells[0]!);
    assert.ok(days.length && days.every(day => beginOf('week', day) === day), String(days));
  });
  await window.field('Rows by').selectOption('month');
  await window.shows(async () => {
    const days = (await tableOf(window, 'Earnings')).map(cells => cells[0]!);
    assert.ok(days.length && days.every(day => day.endsWith('-01')), String(days));
  });
  await window.button('7 days').click();
  await window.shows(async () => {
    const rows = await tableOf(window, 'Compared with the period before');
    assert.ok(rows.length >= 4);
    // Less than half a percent is 0 %, with the arrow that says which way, if any.
    const grown = /^(▲ \+[1-9]\d*|▼ −[1-9]\d*|([▲▼] )?0) %$/;
    for (const cells of rows) assert.match(cells[3]!, grown, String(cells));
  });
  await window.close();
});

test('money: a range that is none is explained', async () => {
  const window = await windowOf('owner', 'one-day');
  window.expect(/status of 400/);
  await window.go('/reports?startDate=2026-11-20&endDate=2026-11-10');
  await window.see(/endDate|startDate|range/i);
  await window.go('/reports?startDate=2026-99-99');
  await window.lacks(window.text('Loading the report'));
  await window.close();
});
