// The log while it is read: it follows, stands still, comes back as it was left, and weighs little.
import assert from 'node:assert/strict';
import { test } from './runner';
import { theStage, windowOf, type Stage } from './stage';
import type { Window } from './browser';

let made = false;
let serial = 0;

/** An app of its own with more callbacks than a page has. */
async function makeApp(stage: Stage): Promise<void> {
  if (made) return;
  made = true;
  await stage.daemon.good('POST', '/api/v1/partners/sunny-games/apps', {
    AppId: 'follow-app',
    Name: 'Follow App',
    CurrencyValue: 100,
    SuccessCallbackUrl: `${stage.broken.url}/follow`,
  });
  const client = { ClientId: 'follow-sdk', Integration: 'sdk' };
  await stage.daemon.good('POST', '/api/v1/apps/follow-app/clients', client);
  await send(stage, 60);
}

async function send(stage: Stage, count: number): Promise<string[]> {
  const events = Array.from({ length: count }, () => ({
    EventId: `follow-${++serial}`,
    Type: 'survey_completed',
    ClientId: 'follow-sdk',
    PanelistId: 'follower',
    RevenueAmount: '0.35',
  }));
  await stage.daemon.good('POST', '/api/v1/events', events);
  return events.map(event => event.EventId);
}

const row = (window: Window, id: string) =>
  window.page.getByRole('link', { name: id, exact: true });
const scrollY = (shown: Window) => shown.page.evaluate(() => Math.round(window.scrollY));

test('following: it is paused by hand and goes on', async () => {
  const stage = await theStage();
  await makeApp(stage);
  const window = await windowOf('analyst', 'sunny-games');
  await window.go('/callbacks?appId=follow-app');
  const [first] = await send(stage, 1);
  await row(window, first!).waitFor();
  await window.button('Pause').click();
  const [second] = await send(stage, 1);
  await window.page.waitForTimeout(6000); // longer than it takes to follow
  await window.lacks(row(window, second!));
  await window.button('Follow live').click();
  await row(window, second!).waitFor();
  await window.close();
});

test('following: it stands still while one reads, and back finds it as it was', async () => {
  const stage = await theStage();
  await makeApp(stage);
  const window = await windowOf('analyst', 'sunny-games');
  await window.go('/callbacks?appId=follow-app');
  await window.button('Show more').click();
  const count = () =>
    window.page.getByRole('table', { name: 'Callbacks' }).locator('tbody tr').count();
  await window.shows(async () => assert.ok((await count()) >= 60));
  await window.see('Paused while you read');
  const shown = await count();
  const ids = await window.page.locator('a.mono').allInnerTexts();
  const old = row(window, ids[55]!);
  await old.scrollIntoViewIfNeeded();
  const [late] = await send(stage, 1);
  for (const back of ['button', 'crumb']) {
    const before = await scrollY(window);
    assert.ok(before > 300, `it has scrolled: ${before}`);
    await old.click();
    await window.heading(ids[55]!).waitFor();
    if (back === 'button') await window.page.goBack();
    else await window.page.locator('.crumbs a').click();
    await window.heading('Callbacks').waitFor();
    await window.shows(async () => assert.ok(Math.abs((await scrollY(window)) - before) < 3, back));
    await window.shows(async () => assert.equal(await count(), shown, back));
    await window.shows(() => assert.match(window.page.url(), /appId=follow-app/));
    await window.lacks(row(window, late!));
  }
  await window.button('Show newest').click();
  await row(window, late!).waitFor();
  await window.shows(async () => assert.equal(await scrollY(window), 0));
  await window.close();
});

test('following: more rows of a list that was begun anew meanwhile are dropped', async () => {
  await makeApp(await theStage());
  const window = await windowOf('analyst', 'sunny-games');
  let release = () => {};
  const held = new Promise<void>(done => (release = done));
  const asked = window.page.waitForRequest(/after=/);
  await window.page.route(/\/api\/v1\/callbacks\?.*after=/, async route => {
    await held;
    await route.continue();
  });
  await window.go('/callbacks?appId=follow-app');
  await window.button('Pause').click();
  await window.button('Show more').click();
  await asked;
  await window.button('Follow live').click();
  const [late] = await send(await theStage(), 1);
  await row(window, late!).waitFor();
  const answered = window.page.waitForResponse(/after=/);
  release();
  await (await answered).finished();
  await window.page.waitForTimeout(500); // longer than it takes to draw it
  const rows = window.page.getByRole('table', { name: 'Callbacks' }).locator('tbody tr');
  await window.shows(async () => assert.equal(await rows.count(), 50));
  await row(window, late!).waitFor();
  await window.close();
});

test('following: why more was not shown is forgotten with the list that it was of', async () => {
  await makeApp(await theStage());
  const window = await windowOf('analyst', 'sunny-games');
  window.expect(/status of 500/);
  await window.page.route(/\/api\/v1\/callbacks\?.*after=/, route =>
    route.fulfill({ status: 500, json: { title: 'Broken', detail: 'The next page is broken.' } }),
  );
  const again = window.button('Try again');
  await window.go('/callbacks?appId=follow-app');
  await window.button('Show more').click();
  await window.see('The next page is broken.');
  await again.click();
  await window.lacks(again);
  await window.button('Show more').click();
  await again.waitFor();
  await window.field('Last error').selectOption('any');
  await window.shows(() => assert.match(window.page.url(), /class=any/));
  await window.lacks(again);
  await window.close();
});

test('following: a row is one line on a desk, a short card on a phone, without bodies', async () => {
  const stage = await theStage();
  await makeApp(stage);
  const window = await windowOf('owner', 'sunny-games');
  const asked: string[] = [];
  window.page.on('response', async answer => {
    if (new URL(answer.url()).pathname === '/api/v1/callbacks') asked.push(await answer.text());
  });
  const tallest = () =>
    window.page
      .locator('[aria-label="Callbacks"] tbody tr')
      .evaluateAll(rows => Math.max(...rows.map(one => one.getBoundingClientRect().height)));
  await window.go('/callbacks?appId=follow-app');
  await window.page
    .getByRole('link', { name: /^Endpoint: / })
    .first()
    .waitFor();
  for (const { width, most } of [
    { width: 1440, most: 44 },
    { width: 1280, most: 44 },
    { width: 390, most: 100 },
    { width: 360, most: 100 },
  ]) {
    await window.page.setViewportSize({ width, height: 800 });
    await window.shows(async () =>
      assert.ok((await tallest()) <= most, `${width} px wide: ${await tallest()} px`),
    );
    await window.fits();
  }
  assert.ok(asked.length > 0 && asked.every(text => !text.includes('"Body"')));
  await window.close();
});
