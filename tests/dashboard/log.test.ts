// What a row of the callback log says of how its callback ended, and what it has room for.
import assert from 'node:assert/strict';
import { until } from './daemon';
import { test } from './runner';
import { theStage, windowOf } from './stage';
import type { Window } from './browser';

const amount = '123,450,000.00';

let made: Promise<void> | null = null;

/** A delivered callback of an app that pays amounts that need room. */
async function delivered(id: string): Promise<void> {
  const { daemon, receiver } = await theStage();
  made ??= (async () => {
    await daemon.good('POST', '/api/v1/partners/sunny-games/apps', {
      AppId: 'rich-app',
      Name: 'Rich App',
      CurrencyValue: 1000000,
      SuccessCallbackUrl: `${receiver.url}/rich-app`,
    });
    await daemon.good('POST', '/api/v1/apps/rich-app/clients', { ClientId: 'rich-sdk' });
  })();
  await made;
  await daemon.good('POST', '/api/v1/events', {
    EventId: id,
    Type: 'survey_completed',
    ClientId: 'rich-sdk',
    PanelistId: `panelist-of-${id}`,
    RevenueAmount: '123.45',
  });
  await until(`${id} is delivered`, async () => {
    const path = `/api/v1/callbacks/${id}?partnerId=sunny-games`;
    return (await daemon.good('GET', path)).State === 'delivered';
  });
}

/** The server's answers, as they would be had the callback fared otherwise. */
async function fares(window: Window, id: string, otherwise: object): Promise<void> {
  await window.page.route(/\/api\/v1\/callbacks[?/]/, async route => {
    const answer = await route.fetch();
    const body = await answer.text();
    const json = JSON.parse(body);
    const one = (json.Items ?? [json]).find((row: any) => row.RewardId === id);
    if (one) Object.assign(one, otherwise);
    await route.fulfill({ response: answer, body: one ? JSON.stringify(json) : body });
  });
}

test('log: how a callback ended is said without its attempts', async () => {
  await delivered('ended-1');
  const window = await windowOf('analyst', 'sunny-games');
  const result = async (wanted: string, short = wanted) => {
    await window.go('/callbacks?rewardId=ended-1');
    await window.shows(async () => assert.equal((await window.rows('Callbacks'))[0]![2], short));
    await window.go('/callbacks/ended-1');
    await window.see(wanted);
  };
  await result('Delivered at the first attempt.', '1 attempt');
  const last = { LastAttempt: null, Attempts: [] };
  await fares(window, 'ended-1', { AttemptCount: 3, ...last });
  await result('Delivered after 3 attempts.', '3 attempts');
  await window.see('Attempts no longer stored');
  await fares(window, 'ended-1', {
    State: 'dead',
    Reason: 'endpoint_down',
    AttemptCount: 0,
    ...last,
  });
  await result('Given up: the endpoint was down for too long.');
  await window.shows(async () => {
    const attempts = await window.textOf(window.page.getByLabel('Attempts', { exact: true }));
    assert.match(attempts, /No attempt.*Given up: the endpoint was down for too long\./);
    assert.doesNotMatch(attempts, /yet/);
  });
  await window.close();
});

test('log: an amount is whole at every width', async () => {
  await delivered('rich-1');
  for (const width of [800, 1024, 1280, 1440, 1700]) {
    const window = await windowOf('developer', 'sunny-games', { width });
    await window.go('/callbacks?rewardId=rich-1');
    const shown = window.page.getByRole('cell', { name: amount });
    await shown.waitFor();
    assert.ok(await shown.locator('div').evaluate(all => all.scrollWidth <= all.clientWidth));
    const result = window.page.locator('td[data-label="Last result"]');
    assert.ok((await result.boundingBox())!.width > 100, `the last result has room at ${width}`);
    await window.fits();
    await window.close();
  }
});
