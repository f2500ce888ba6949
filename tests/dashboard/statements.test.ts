// Statements by month: what a month came to, its days with their digests, and CSV.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { monthBefore, stateOf } from '../../dashboard/src/pages/statements/month';
import { until } from './daemon';
import { test } from './runner';
import { theStage, windowOf } from './stage';

const today = () => new Date().toISOString().slice(0, 10);
/** Open for late events, whatever the date is. */
const month = () => monthBefore(today().slice(0, 7));

let made: Promise<void> | null = null;

async function makeBooks(): Promise<void> {
  const { daemon, receiver } = await theStage();
  await daemon.good('POST', '/api/v1/partners', { PartnerId: 'books', Name: 'Books' });
  for (const [app, url] of [
    ['books-one', receiver.url],
    ['books-two', null],
  ]) {
    await daemon.good('POST', '/api/v1/partners/books/apps', {
      AppId: app,
      CurrencyValue: 100,
      SuccessCallbackUrl: url,
    });
    await daemon.good('POST', `/api/v1/apps/${app}/clients`, { ClientId: `${app}-c` });
  }
  const event = (n: number, app: string, day: string, more: object) => ({
    EventId: `books-${n}`,
    Type: 'survey_completed',
    ClientId: `${app}-c`,
    PanelistId: 'p-1',
    Timestamp: `${month()}-${day}T12:00:00Z`,
    ...more,
  });
  await daemon.good('POST', '/api/v1/events', [
    event(1, 'books-one', '03', { RevenueAmount: '1.25' }),
    event(2, 'books-one', '03', { RevenueAmount: '0.0125' }),
    event(3, 'books-one', '20', { RevenueAmount: '2.00' }),
    event(4, 'books-two', '20', { RevenueAmount: '3.00' }),
    event(5, 'books-one', '21', { RevenueAmount: '9.00', IsTest: true }),
  ]);
  await until('all are delivered', async () => {
    const { Items } = await daemon.good(
      'GET',
      '/api/v1/callbacks?partnerId=books&state=pending&limit=10',
    );
    return Items.length === 0;
  });
}

const books = () => (made ??= makeBooks());

test('statements: what can still change in a month', () => {
  assert.equal(monthBefore('2026-01'), '2025-12');
  assert.equal(monthBefore('2026-03', 14), '2025-01');
  assert.equal(stateOf('2026-11', '2026-11-30').title, 'In progress');
  assert.equal(stateOf('2026-11', '2026-12-01').title, 'Open until 28 Feb 2027');
  assert.equal(stateOf('2026-11', '2027-02-28').title, 'Open until 28 Feb 2027');
  assert.equal(stateOf('2026-11', '2027-03-01').title, 'Closed');
});

test('statements: a month is found in the list, with its revenue and state', async () => {
  await books();
  const window = await windowOf('analyst', 'books');
  await window.go('/');
  await window.link('Statements').click();
  await window.heading('Statements').waitFor();
  await window.shows(async () => {
    const [row, ...others] = await window.rows('Months');
    assert.equal(row![1], '$6.26');
    assert.match(row![3]!, /^Open until /);
    assert.equal(others.length, 0);
  });
  await window.link('Earlier').click();
  await window.see('Nothing in these months');
  await window.link('Newest').click();
  await window.page.getByRole('table', { name: 'Months' }).getByRole('link').click();
  await window.shows(() => assert.match(window.page.url(), new RegExp(`/statements/${month()}$`)));
  await window.page.getByRole('table', { name: 'Days' }).waitFor();
  await window.close();
});

test('statements: a month has totals by app, and a digest for each day', async () => {
  await books();
  const { daemon } = await theStage();
  const window = await windowOf('owner', 'books');
  await window.go(`/statements/${month()}`);
  await window.shows(async () => {
    const apps = (await window.rows('Apps')).map(cells => cells.slice(0, 4));
    assert.deepEqual(apps, [
      ['books-one', '3', '326.25', '$3.26'],
      ['books-two', '1', '300.00', '$3.00'],
    ]);
    const foot = window.page.getByRole('table', { name: 'Apps' }).locator('tfoot');
    assert.match((await foot.innerText()).replace(/\s+/g, ' '), /Total 4 \$6\.26/);
    const ofDays = window.page.getByRole('table', { name: 'Days' }).locator('tfoot');
    assert.match((await ofDays.innerText()).replace(/\s+/g, ' '), /Total 4 \$6\.26/);
    const days = (await window.rows('Days')).map(cells => cells.slice(0, 3));
    assert.deepEqual(days, [
      [`${month()}-03`, 'books-one', '2'],
      [`${month()}-20`, 'books-one', '1'],
      [`${month()}-20`, 'books-two', '1'],
    ]);
  });
  const lines = 'books-1\t125.00\t1.25\nbooks-2\t1.25\t0.0125\n';
  const digest = createHash('sha256').update(lines).digest('hex');
  const [download] = await Promise.all([
    window.page.waitForEvent('download'),
    window.button('Download CSV').click(),
  ]);
  assert.equal(download.suggestedFilename(), `statement_books_${month()}.csv`);
  const csv = (await readFile(await download.path(), 'utf8')).split('\r\n');
  assert.equal(csv[0], 'Day,AppId,Final,Count,Reward,RevenueAmount,Digest');
  assert.equal(csv[1], `${month()}-03,books-one,false,2,126.25,1.2625,${digest}`);
  assert.equal(csv.length, 5);
  await window.see(`--url ${daemon.url} --day ${month()}-20 records.csv`);
  await window.field('App').selectOption('books-two');
  await window.shows(async () => assert.equal((await window.rows('Days')).length, 1));
  await window.close();
});

test('statements: a busy server is asked again, and a month that is none is explained', async () => {
  await books();
  const window = await windowOf('owner', 'books');
  window.expect(/status of 429/);
  await window.page.route(
    '**/api/v1/statements?day=*-02',
    route =>
      route.fulfill({
        status: 429,
        headers: { 'Retry-After': '1', 'Content-Type': 'application/problem+json' },
        body: '{"title":"Too Many Requests","status":429,"detail":"Later."}',
      }),
    { times: 1 },
  );
  await window.go(`/statements/${month()}`);
  await window.shows(async () => assert.equal((await window.rows('Days')).length, 3));
  await window.lacks(window.page.getByRole('alert'));
  for (const none of ['2026-13', '9999-01', 'x']) {
    await window.go(`/statements/${none}`);
    await window.see('No such month');
  }
  await window.close();
});

test('statements: no partner sees another one’s', async () => {
  await books();
  const window = await windowOf('owner', 'north-studio');
  await window.go(`/statements/${month()}`);
  await window.lacks('books-one');
  await window.close();
});
