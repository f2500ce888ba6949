// Why a callback never came, and how it comes after all.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { Locator } from 'playwright-core';
import type { Window } from './browser';
import { Receiver, until, type Received } from './daemon';
import { test } from './runner';
import { theStage, windowOf, type Stage } from './stage';

async function send(stage: Stage, id: string, fields: Record<string, unknown> = {}): Promise<void> {
  const { Rejected } = await stage.daemon.good('POST', '/api/v1/events', {
    EventId: id,
    Type: 'survey_completed',
    ClientId: 'quiz-iframe',
    PanelistId: `of-${id}`,
    RevenueAmount: '0.35',
    ...fields,
  });
  assert.deepEqual(Rejected, []);
}

/** Until all of them are in that state. */
async function reach(stage: Stage, state: string, ...ids: string[]): Promise<void> {
  for (const id of ids)
    await until(`${id} is ${state}`, async () => {
      const path = `/api/v1/callbacks/${id}?partnerId=sunny-games`;
      return (await stage.daemon.good('GET', path)).State === state;
    });
}

test('callbacks: the search finds by id, panelist, type and state', async () => {
  const stage = await theStage();
  await send(stage, 'find-1', { ClientId: 'farm-ios' });
  await send(stage, 'find-2', { ClientId: 'farm-ios', Type: 'profiler_completed' });
  const window = await windowOf('analyst', 'sunny-games');
  await window.go('/callbacks');
  const column = async (n: number) => (await window.rows('Callbacks')).map(row => row[n]);
  await window.field('RewardId').fill('find-1');
  await window.shows(async () => assert.deepEqual(await column(0), ['find-1']));
  await window.field('RewardId').fill('');
  await window.field('PanelistId').fill('of-find-2');
  await window.shows(async () => assert.deepEqual(await column(0), ['find-2']));
  await window.field('PanelistId').fill('');
  await window.field('RewardId').fill('find-1');
  await window.shows(async () => assert.deepEqual(await column(0), ['find-1']));
  for (const [name, rows] of [
    ['Download this log (CSV)', /^RewardId,[^\r]*,LastDetail\r\nfind-1,[^\r]*\r\n$/],
    ['Download rewards (CSV)', /\r\nfind-1,[^]*\r\nfind-2,/],
  ] as const) {
    const [download] = await Promise.all([
      window.page.waitForEvent('download'),
      window.page.getByRole('link', { name }).click(),
    ]);
    assert.match(await readFile((await download.path())!, 'utf8'), rows);
  }
  await window.go('/callbacks?rewardType=profiler_completed');
  await window.shows(async () => {
    assert.ok((await column(0)).includes('find-2'));
    for (const cell of await column(3)) assert.match(cell!, /Profiler completed$/);
  });
  await window.go('/callbacks?rewardId=never-was');
  await window.see('No callback matches');
  await window.button('Clear the search').click();
  await window.shows(async () => assert.ok((await column(0)).length > 2));
  await window.close();
});

test('callbacks: a failing endpoint is diagnosed and mended', async () => {
  const stage = await theStage();
  // An app of its own: what is down for long is tried once a minute only.
  await stage.daemon.good('POST', '/api/v1/partners/sunny-games/apps', {
    AppId: 'ill-app',
    Name: 'Ill App',
    CurrencyValue: 100,
    SuccessCallbackUrl: `${stage.broken.url}/ill-app/success`,
  });
  const client = { ClientId: 'ill-sdk', Name: 'ill-sdk', Integration: 'sdk' };
  await stage.daemon.good('POST', '/api/v1/apps/ill-app/clients', client);
  await send(stage, 'ill-1', { ClientId: 'ill-sdk' });
  const window = await windowOf('developer', 'sunny-games');
  await window.go('/');
  const row = window.page.getByRole('row').filter({ hasText: 'Ill App · Success' });
  await row.getByText(/Down|Failing/).waitFor();
  await window.go('/callbacks/ill-1');
  await window.see('Answered 500');
  await window.see('Your code failed: look for this RewardId in your logs.');
  await window.see('{"error":"no such user"}');
  await window.link('ill-app').click();
  await window.link('Postback (surveys)').click();
  await window.see('Answered 500');
  await window.field('Success Callback URL').fill(`${stage.receiver.url}/mended`);
  await window.button('Save').first().click();
  await window.said('Saved.');
  await window.see(/Last failed attempt .*, before you saved/);
  await window.go('/callbacks/ill-1');
  await window.button('Resend').click();
  await window.see(/Delivered after/);
  const came = stage.receiver.received.find(one => one.body.includes('"ill-1"'));
  assert.equal(came?.path, '/mended');
  await window.close();
});

test('callbacks: several that were picked are sent again', async () => {
  const stage = await theStage();
  const ids = ['pick-1', 'pick-2', 'pick-3'];
  for (const id of ids) await send(stage, id, { ClientId: 'garden-web' });
  await reach(stage, 'delivered', ...ids);
  const window = await windowOf('developer', 'sunny-games');
  await window.go('/callbacks');
  await window.field('Select pick-1').check();
  await window.field('Select pick-3').check();
  await window.button('Resend 2').click();
  await window.said('2 resent.');
  const times = (id: string) =>
    stage.receiver.received.filter(one => one.body.includes(`"RewardId":"${id}"`)).length;
  await until('both came twice', async () => times('pick-1') === 2 && times('pick-3') === 2);
  assert.equal(times('pick-2'), 1);
  await window.close();
});

test('callbacks: what is no longer stored is named, and the others are sent again', async () => {
  const stage = await theStage();
  const ids = ['kept-1', 'erased-1'];
  for (const id of ids) await send(stage, id, { ClientId: 'garden-web' });
  await reach(stage, 'delivered', ...ids);
  const window = await windowOf('developer', 'sunny-games');
  window.expect(/status of 409/);
  await window.go('/callbacks');
  await window.field('Select erased-1').check();
  await window.field('Select kept-1').check();
  await stage.daemon.good('POST', '/api/v1/panelists/erase?partnerId=sunny-games', {
    PanelistId: 'of-erased-1',
  });
  await window.button('Resend 2').click();
  await window.said('1 resent.');
  await window.see('Their bodies are no longer stored: erased-1.');
  await window.go('/callbacks/erased-1');
  await window.button('Resend').click();
  await window.see('was deleted when its panelist was erased');
  await window.close();
});

test('callbacks: a range is sent again, with its progress', async () => {
  const stage = await theStage();
  const ids = ['range-1', 'range-2', 'range-3'];
  const minute = new Date(Date.now() - 30_000).toISOString().slice(0, 16);
  await stage.daemon.good('PATCH', '/api/v1/apps/word-garden', { SuccessCallbackUrl: null });
  for (const id of ids) await send(stage, id, { ClientId: 'garden-web' });
  await reach(stage, 'skipped', ...ids);
  await stage.daemon.good('PATCH', '/api/v1/apps/word-garden', {
    SuccessCallbackUrl: `${stage.receiver.url}/word-garden/success`,
  });
  const window = await windowOf('developer', 'sunny-games');
  await window.go('/callbacks');
  await window.button('Resend a range').click();
  const dialog = window.page.getByRole('dialog', { name: 'Resend a range' });
  await dialog.getByLabel('App', { exact: true }).selectOption('word-garden');
  await dialog.getByLabel('Dead', { exact: true }).uncheck();
  await dialog.getByLabel('Skipped', { exact: true }).check();
  await dialog.getByLabel('Accepted from (UTC)').fill(minute);
  await dialog.getByLabel('At most').fill('200');
  await dialog.getByRole('button', { name: 'Count', exact: true }).click();
  const confirm = dialog.getByRole('button', { name: /^Resend [1-9]/ }); // and those of other tests
  await confirm.waitFor();
  await dialog.getByLabel('At most').fill('100'); // whatever is changed: it is counted again
  await confirm.waitFor({ state: 'detached' });
  await dialog.getByLabel('At most').fill('200');
  await confirm.click();
  await window.see('Range resent');
  await reach(stage, 'delivered', ...ids);
  await window.page.reload();
  await window.see('Range resent');
  await window.button('Dismiss').click();
  await window.close();
});

test('callbacks: the list says what fails, why, and what waits behind an endpoint', async () => {
  const stage = await theStage();
  await stage.daemon.good('POST', '/api/v1/partners/sunny-games/apps', {
    AppId: 'listed-app',
    Name: 'Listed App',
    CurrencyValue: 100,
    SuccessCallbackUrl: `${stage.broken.url}/listed-app/success`,
  });
  const client = { ClientId: 'listed-sdk', Integration: 'sdk' };
  await stage.daemon.good('POST', '/api/v1/apps/listed-app/clients', client);
  for (let n = 0; n < 12; n++) await send(stage, `listed-${n}`, { ClientId: 'listed-sdk' });
  await until('its endpoint is down', async () => {
    const path = '/api/v1/apps/listed-app/endpoints';
    const { Endpoints } = await stage.daemon.good('GET', path);
    return Endpoints[0].State === 'suspended';
  });
  for (let n = 0; n < 6; n++) await send(stage, `late-${n}`, { ClientId: 'listed-sdk' });
  const window = await windowOf('analyst', 'sunny-games');
  await window.go('/callbacks?appId=listed-app');
  await window.shows(async () => {
    const rows = await window.rows('Callbacks');
    const failing = rows.find(row => row[1] === 'Failing');
    assert.ok(failing, 'some were tried');
    assert.match(
      failing[2]!,
      /^Down Answered 500[^]* · \d+ attempts? · [^]*(ago|just now) · next try when the endpoint answers/,
    );
    assert.match(failing[3]!, /^Listed App/);
    const waiting = rows.find(row => row[1] === 'Waiting');
    assert.ok(waiting, 'some wait for the endpoint');
    assert.match(waiting[2]!, /^Down Waits: this URL failed \(Answered 500[^]*\) · down since/);
  });
  // From the page's menu: one click, and the cause is in the first screen.
  await window.go('/');
  await window.link('Callbacks').first().click();
  await window.heading('Callbacks').waitFor();
  await window.shows(async () => {
    const { y } = (await window.text(/Answered 500/).boundingBox())!;
    assert.ok(y < window.page.viewportSize()!.height, `it is at ${y}`);
  });
  await window.go('/callbacks?appId=listed-app');
  await window.link('Endpoint: Down').first().click();
  await window.heading('Listed App').waitFor();
  await window.close();
});

test('callbacks: the log is searched by error, and all that match are sent again', async () => {
  const stage = await theStage();
  const receiver = await Receiver.start();
  receiver.status = 404;
  await stage.daemon.good('POST', '/api/v1/partners/sunny-games/apps', {
    AppId: 'match-app',
    Name: 'Match App',
    CurrencyValue: 100,
    SuccessCallbackUrl: `${receiver.url}/success`,
    FailureCallbackUrl: 'http://127.0.0.1:9/failure',
  });
  const client = { ClientId: 'match-sdk', Integration: 'sdk' };
  await stage.daemon.good('POST', '/api/v1/apps/match-app/clients', client);
  const ids = ['match-1', 'match-2', 'match-3'];
  for (const id of ids) await send(stage, id, { ClientId: 'match-sdk' });
  await send(stage, 'match-refused', { ClientId: 'match-sdk', Type: 'survey_disqualified' });
  await until('all have failed', async () => {
    const path = '/api/v1/callbacks?partnerId=sunny-games&appId=match-app&class=any';
    return (await stage.daemon.good('GET', path)).Items.length === 4;
  });
  const window = await windowOf('developer', 'sunny-games');
  await window.go('/callbacks?appId=match-app');
  const found = async () => {
    const all = await window.page.locator('[aria-label="Callbacks"] tbody a.mono').allInnerTexts();
    return all.filter(text => text.startsWith('match-')).sort();
  };
  await window.field('State').selectOption('failing');
  await window.shows(async () => assert.deepEqual(await found(), [...ids, 'match-refused']));
  await window.link('match-refused').click();
  await window.page.locator('.page-head .badge', { hasText: 'failing' }).waitFor();
  await window.page.goBack();
  await window.field('Last error').selectOption('refused');
  await window.shows(async () => assert.deepEqual(await found(), ['match-refused']));
  await window.field('Last error').selectOption('');
  await window.field('Last status').fill('404');
  await window.shows(async () => assert.deepEqual(await found(), ids));
  await window.button('Select the 3 shown').click();
  await window.button('Resend 3').waitFor();
  await window.button('Clear selection').click();
  await window.button('Resend all matching').click();
  await window.see('3 callbacks match');
  receiver.status = 200; // not before: their own next tries would take them out of what is counted
  await window.button('Resend 3').click();
  await window.said('3 resent.');
  await reach(stage, 'delivered', ...ids);
  await window.go('/callbacks?appId=match-app&state=pending');
  await window.button('Resend all matching').click();
  await window.see('1 callback matches');
  const path = '/api/v1/apps/match-app';
  await stage.daemon.good('PATCH', path, { FailureCallbackUrl: `${receiver.url}/failure` });
  // Somebody else sends it meanwhile, and it leaves the log; the dialog stays.
  await stage.daemon.good('POST', '/api/v1/callbacks/match-refused/resend?partnerId=sunny-games');
  await reach(stage, 'delivered', 'match-refused');
  await window.shows(async () => assert.deepEqual(await found(), []));
  await window.button('Resend 1').click();
  await window.see('Nothing to resend');
  await window.button('Dismiss').click();
  await reach(stage, 'delivered', 'match-refused');
  await window.close();
  await receiver.stop();
});

/** What the clipboard holds once this has been pressed. */
async function copied(window: Window, press: Locator): Promise<string> {
  await window.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await window.page.evaluate(() => navigator.clipboard.writeText(''));
  await press.click();
  return until('something is copied', () =>
    window.page.evaluate(() => navigator.clipboard.readText()),
  );
}

test('callbacks: over plain HTTP a text can be copied, and what cannot be is said', async () => {
  await theStage();
  const window = await windowOf('developer', 'sunny-games');
  await window.go('/docs/verify');
  const button = window.page.getByRole('button', { name: /^Copy / }).first();
  // As a page has it that came over plain HTTP from another machine.
  await window.page.evaluate(() => {
    Object.assign(globalThis, { clipboard: navigator.clipboard });
    Object.defineProperty(navigator, 'clipboard', { value: undefined });
    document.addEventListener('copy', () => {
      Object.assign(globalThis, { copied: String(document.activeElement?.nodeName) });
    });
  });
  await button.click();
  await window.page.getByRole('button', { name: / copied$/ }).waitFor();
  const from = () => window.page.evaluate(() => (globalThis as { copied?: string }).copied);
  assert.equal(await from(), 'TEXTAREA');
  await window.lacks(window.page.locator('textarea.sr-only'));
  await button.waitFor();
  await window.page.evaluate(() => (document.execCommand = () => false));
  await button.click();
  await window.see('Not copied');
  await window.close();
});

test('callbacks: each request that is shown can be copied as curl', async () => {
  const { daemon, receiver } = await theStage();
  await daemon.good('POST', '/api/v1/events', {
    EventId: 'curl-1',
    Type: 'survey_completed',
    ClientId: 'farm-ios',
    PanelistId: `curl'"$(x) \\ é`,
    RevenueAmount: '0.60',
  });
  const came = async (index: number) => {
    const of = () => receiver.received.filter(one => one.headers['webhook-id'] === 'curl-1');
    return until('it came', async () => of()[index]);
  };
  const same = (command: string, { body, headers }: Received) => {
    assert.ok(
      command.startsWith(`curl --globoff '${receiver.url}/farm-friends/success' `),
      command,
    );
    assert.ok(command.includes(`--data-raw '${body.replace(/'/g, `'\\''`)}'`), command);
    for (const name of ['content-type', 'webhook-id', 'webhook-timestamp', 'webhook-signature'])
      assert.ok(
        command.toLowerCase().includes(`-h '${name}: ${String(headers[name]).toLowerCase()}'`),
        `${name} in ${command}`,
      );
  };
  const window = await windowOf('developer', 'sunny-games');
  const first = await came(0);
  await window.go('/callbacks/curl-1');
  const copy = window.button(/^Copy as curl/);
  same(await copied(window, copy.first()), first);
  await window.button('Resend').click();
  const second = await came(1);
  await window.see('Delivered: answered 200');
  const notice = window.page.getByRole('status').filter({ hasText: 'Delivered: answered' });
  same(await copied(window, notice.getByRole('button', { name: /^Copy as curl/ })), second);
  await window.go('/console?app=farm-friends');
  await window.button('Send').click();
  await window.see('Delivered: answered');
  const command = await copied(window, copy);
  const id = /webhook-id: (test_[0-9a-f]+)/.exec(command)![1];
  same(
    command,
    receiver.received.find(one => one.headers['webhook-id'] === id)!,
  );
  const analyst = await windowOf('analyst', 'sunny-games');
  await analyst.go('/callbacks/curl-1');
  const masked = await copied(analyst, analyst.button(/^Copy as curl/).first());
  assert.match(masked, /"Sig":"\*{32}"/);
  await window.close();
  await analyst.close();
});

test('callbacks: a GET and a form are shown as they were sent', async () => {
  const { daemon, receiver } = await theStage();
  const url = `${receiver.url}/as-sent`;
  const shown = { get: `GET ${url}?uid=as-get&id=as-get-1`, form: /&PanelistId=as-form&/ };
  const window = await windowOf('developer', 'sunny-games');
  for (const format of ['get', 'form'] as const) {
    const [AppId, EventId] = [`as-${format}`, `as-${format}-1`];
    const urls = {
      SuccessCallbackUrl: format === 'get' ? `${url}?uid={PanelistId}&id={RewardId}` : url,
    };
    await daemon.good('POST', '/api/v1/partners/sunny-games/apps', {
      AppId,
      Name: AppId,
      CurrencyValue: 100,
      RequestFormat: format,
      ...urls,
    });
    await daemon.good('POST', `/api/v1/apps/${AppId}/clients`, {
      ClientId: AppId,
      Name: AppId,
      Integration: 'sdk',
    });
    await daemon.good('POST', '/api/v1/events', {
      EventId,
      Type: 'survey_completed',
      ClientId: AppId,
      PanelistId: AppId,
      RevenueAmount: '0.60',
    });
    await window.go(`/callbacks/${EventId}`);
    await window.see(shown[format]);
    const command = await copied(window, window.button(/^Copy as curl/).first());
    assert.ok(command.includes(url), command);
    assert.equal(command.includes('--data-raw'), format === 'form', command);
    await window.go(`/console?app=${AppId}`);
    await window.button('Send').click();
    await window.see('Sig is correct for this app’s secret.');
  }
  await window.close();
});
