// The first day of an account: the overview says what is still to be done, and where.
import assert from 'node:assert/strict';
import type { Window } from './browser';
import { until } from './daemon';
import { test } from './runner';
import { freshWindow, theStage } from './stage';

async function steps(window: Window): Promise<string[]> {
  return window.page.locator('.steps li').evaluateAll(all => all.map(one => one.textContent ?? ''));
}

/** On the overview: this many are done, and the step is or is not. */
async function overviewShows(window: Window, done: number, step: string, isDone: boolean) {
  await window.go('/');
  await window.shows(async () => {
    const all = await steps(window);
    assert.equal(all.filter(one => one.endsWith('done')).length, done);
    assert.ok(all.includes(step + (isDone ? 'done' : 'to do')), all.join('\n'));
  });
}

/** Follows the step's link. */
async function follow(window: Window, step: string, path: string): Promise<void> {
  await window.page.locator('.steps').getByRole('link', { name: step }).click();
  await window.shows(() => {
    const { pathname, search } = new URL(window.page.url());
    assert.equal(pathname + search, path);
  });
}

test('first day: each step is ticked by being done, and links to where that is', async () => {
  const { daemon, receiver } = await theStage();
  const partner = '/api/v1/partners/first-day';
  await daemon.good('POST', '/api/v1/partners', { PartnerId: 'first-day', Name: 'First Day' });
  const window = await freshWindow('dora@first-day.example', 'developer', 'first-day');

  await overviewShows(window, 0, 'Create an app', false);
  await follow(window, 'Create an app', '/apps');
  await daemon.good('POST', `${partner}/apps`, { AppId: 'first-app', CurrencyValue: 1 });

  await overviewShows(window, 1, 'Add a client', false);
  await follow(window, 'Add a client', '/apps/first-app/clients');
  const client = { ClientId: 'first-client', Integration: 'sdk' };
  await daemon.good('POST', '/api/v1/apps/first-app/clients', client);

  await overviewShows(window, 2, 'Set a callback URL', false);
  await follow(window, 'Set a callback URL', '/apps/first-app/postback');
  await daemon.good('PATCH', '/api/v1/apps/first-app', {
    SuccessCallbackUrl: `${receiver.url}/day`,
  });

  await overviewShows(window, 3, 'Send a test callback', false);
  await follow(window, 'Send a test callback', '/console?app=first-app');
  await window.button('Send').click();
  await window.see('Delivered: answered');

  await overviewShows(window, 4, 'Check the secret your server uses', false);
  const secretStep = 'Check the secret your server uses';
  await follow(window, secretStep, '/console?app=first-app&do=verify&check=secret');
  const { CallbackSecret } = await daemon.good('GET', '/api/v1/apps/first-app/secret');
  await window.field('Body').fill(receiver.received.find(one => one.path === '/day')!.body);
  await window.field('The secret your server uses').fill('whsec_b3RoZXI=');
  await window.page.getByRole('main').getByRole('button', { name: 'Verify' }).click();
  await window.see('your secret is not this app');
  await overviewShows(window, 4, secretStep, false);
  await follow(window, secretStep, '/console?app=first-app&do=verify&check=secret');
  await window.field('Body').fill(receiver.received.find(one => one.path === '/day')!.body);
  await window.field('The secret your server uses').fill(CallbackSecret);
  await window.page.getByRole('main').getByRole('button', { name: 'Verify' }).click();
  await window.see('Sig matches');

  await overviewShows(window, 5, 'Receive the first real callback', false);
  await daemon.good('POST', '/api/v1/events', {
    EventId: 'day-1',
    Type: 'survey_completed',
    ClientId: 'first-client',
    PanelistId: 'somebody',
    RevenueAmount: '1.00',
  });
  await until('it is delivered', async () => {
    const path = '/api/v1/callbacks/day-1?partnerId=first-day';
    return (await daemon.good('GET', path)).State === 'delivered';
  });
  await window.go('/');
  await window.lacks('Get started');
  await window.close();
});

test('first day: it can be hidden, and those who cannot do it do not see it', async () => {
  const { daemon } = await theStage();
  await daemon.good('POST', '/api/v1/partners', { PartnerId: 'no-day', Name: 'No Day' });
  const analyst = await freshWindow('ann@no-day.example', 'analyst', 'no-day');
  await analyst.go('/');
  await analyst.lacks('Get started');
  await analyst.close();
  const window = await freshWindow('olive@no-day.example', 'owner', 'no-day');
  await window.go('/');
  await window.see('0 of 6 steps done.');
  await window.button('Hide').click();
  await window.go('/');
  await window.lacks('Get started');
  await window.close();
});
