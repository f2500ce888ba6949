// The URLs of an app beside each other, and the console's tests of them.
import assert from 'node:assert/strict';
import { Receiver, until } from './daemon';
import { test } from './runner';
import { theStage, windowOf } from './stage';

test('urls: the first page of an app shows all three, tests them, and sets them at once', async () => {
  const { daemon } = await theStage();
  const good = await Receiver.start();
  const bad = await Receiver.start();
  bad.status = 500;
  await daemon.good('POST', '/api/v1/partners/sunny-games/apps', {
    AppId: 'three-app',
    Name: 'Three App',
    CurrencyValue: 10,
    SuccessCallbackUrl: `${good.url}/success`,
    OfferCallbackUrl: `${bad.url}/offers`,
  });
  const client = { ClientId: 'three-sdk', Integration: 'sdk' };
  await daemon.good('POST', '/api/v1/apps/three-app/clients', client);
  const offer = { OfferId: 1, OfferTitle: 'An offer', ClientId: 'three-sdk', PanelistId: 'p' };
  const events = Array.from({ length: 12 }, (_, n) => ({
    EventId: `three-${n}`,
    Type: 'offer_clicked',
    ...offer,
  }));
  await daemon.good('POST', '/api/v1/events', events);
  await until('the offers are down', async () => {
    const { Endpoints } = await daemon.good('GET', '/api/v1/apps/three-app/endpoints');
    return Endpoints.some((one: { State: string }) => one.State === 'suspended');
  });
  const window = await windowOf('developer', 'sunny-games');
  await window.go('/apps/three-app');
  const group = (name: string) => window.page.getByRole('group', { name, exact: true });
  await group('Success (surveys)').getByText('Healthy').waitFor();
  await group('Failure (surveys)').getByText('No URL: nothing is sent.').waitFor();
  await group('Offers').getByText('Down').waitFor();
  await group('Offers')
    .getByText(/Last failed attempt.*Answered 500/)
    .waitFor();
  await window.button('Test Success (surveys)').click();
  await group('Success (surveys)').getByText('Delivered: answered 200').waitFor();
  await window.button('Test Offers').click();
  await group('Offers').getByText('Your code failed').waitFor();
  await window.link('Postback (surveys)').click();
  await window.see('Other URLs of this app:');
  await window.link('Offers').waitFor();
  await window.button('Test Success (surveys)').waitFor();
  await window.link('Callback (offers)').click();
  await window.see('Other URLs of this app:');
  await window.link('Success (surveys)').waitFor();
  await window.button('Test Offers').waitFor();
  await window.link('General').click();
  await window.text('One URL for all three').click();
  await window.field('URL for all three').fill(`${good.url}/all`);
  await window.button('Set all three').click();
  await window.said('Saved for all three.');
  const app = await daemon.good('GET', '/api/v1/apps/three-app');
  const urls = [app.SuccessCallbackUrl, app.FailureCallbackUrl, app.OfferCallbackUrl];
  assert.deepEqual(urls, [`${good.url}/all`, `${good.url}/all`, `${good.url}/all`]);
  await window.close();
  await good.stop();
  await bad.stop();
});

test('urls: tests have a URL of their own, and each URL is still tested by itself', async () => {
  const { daemon } = await theStage();
  const receiver = await Receiver.start();
  await daemon.good('POST', '/api/v1/partners/sunny-games/apps', {
    AppId: 'tests-app',
    Name: 'Tests App',
    CurrencyValue: 10,
    SuccessCallbackUrl: `${receiver.url.replace('//', '//user:pass@')}/success`,
  });
  const client = { ClientId: 'tests-sdk', Integration: 'sdk' };
  await daemon.good('POST', '/api/v1/apps/tests-app/clients', client);
  const window = await windowOf('developer', 'sunny-games');
  window.expect(/status of 400/);
  await window.go('/apps/tests-app');
  const card = window.page.getByRole('form', { name: 'Tests', exact: true });
  const group = (name: string) => window.page.getByRole('group', { name, exact: true });
  await group('Success (surveys)').waitFor();
  await window.lacks(group('Tests'));
  const field = card.getByLabel('Test Callback URL');
  const save = card.getByRole('button', { name: 'Save' });
  const colour = () => save.evaluate(button => getComputedStyle(button).backgroundColor);
  const disabled = await colour();
  await save.hover({ force: true });
  await window.page.waitForTimeout(500); // longer than a button's transition
  assert.equal(await colour(), disabled, 'it looks disabled under the pointer, too');
  await field.fill('ftp://nowhere');
  await save.click();
  await card.getByText('Not saved: 1 field is wrong').waitFor();
  await card.getByText(/http/).first().waitFor();
  await window.shows(async () =>
    assert.ok(await field.evaluate(input => input === document.activeElement)),
  );
  await field.fill(`${receiver.url}/tests`);
  await save.click();
  await window.said('Saved.');
  await group('Tests').getByText(`${receiver.url}/tests`).waitFor();
  for (const [name, path] of [
    ['Tests', '/tests'],
    ['Success (surveys)', '/success'],
  ] as const) {
    await window.button(`Test ${name}`).click();
    await group(name).getByText('Delivered: answered 200').waitFor();
    assert.equal(receiver.received.at(-1)!.path, path);
  }
  const event = { Type: 'survey_completed', ClientId: 'tests-sdk', PanelistId: 'p' };
  await daemon.good('POST', '/api/v1/events', [
    { ...event, EventId: 'of-a-test', RevenueAmount: 1, IsTest: true },
  ]);
  await until('the test is sent', () =>
    Promise.resolve(receiver.received.some(one => one.body.includes('of-a-test'))),
  );
  assert.equal(receiver.received.at(-1)!.path, '/tests');
  await window.go('/console?app=tests-app');
  await window.button('Send').click();
  await window.see('Delivered: answered 200');
  assert.equal(receiver.received.at(-1)!.path, '/tests');
  await window.close();
  await receiver.stop();
});

test('urls: a test is never green when the receiver says wrong, and tests have a log', async () => {
  const { daemon } = await theStage();
  const receiver = await Receiver.start();
  await daemon.good('POST', '/api/v1/partners/sunny-games/apps', {
    AppId: 'console-app',
    Name: 'Console App',
    CurrencyValue: 10,
    SuccessCallbackUrl: `${receiver.url}/success`,
  });
  const window = await windowOf('developer', 'sunny-games');
  await window.go('/console?app=console-app');
  await window.see('No test yet');
  await window.button('Send').click();
  await window.see('Delivered: answered 200');
  await window.see(/Sig is correct, webhook-signature is correct/);
  receiver.answer = '{"status":"wrong signature"}';
  await window.button('Send').click();
  await window.see('Answered 200, but the body reports an error');
  await window.lacks(window.page.locator('.notice.good, .card-head .badge.good'));
  await window.page.reload();
  await window.shows(async () => {
    const rows = await window.rows('Your tests');
    assert.deepEqual(
      rows.map(row => row[2]),
      ['Error in body', 'Delivered'],
    );
    assert.match(rows[0]![3]!, /wrong signature/);
  });
  receiver.answer = '{"ok":true,"error":null}';
  await window.button('Send').click();
  await window.see('Delivered: answered 200');
  await window.close();
  await receiver.stop();
});

test('urls: a receiver of another network gets the URL it knows, and the preview is what is sent', async () => {
  const { daemon } = await theStage();
  const receiver = await Receiver.start();
  await daemon.good('POST', '/api/v1/partners/sunny-games/apps', {
    AppId: 'preset-app',
    Name: 'Preset App',
    CurrencyValue: 10,
  });
  const client = { ClientId: 'preset-sdk', Integration: 'sdk' };
  await daemon.good('POST', '/api/v1/apps/preset-app/clients', client);
  const window = await windowOf('developer', 'sunny-games');
  window.expect(/status of 400/);
  await window.go('/apps/preset-app/postback');
  const url = window.field('Success Callback URL');
  await window.shows(async () => {
    assert.ok(await window.field('Receiver written for').isDisabled());
    assert.ok(await window.button('Preview').isDisabled());
  });

  await url.fill(`${receiver.url}/cb?old={Foo}`);
  await window.button('Preview').click();
  const fault = window.page.locator('.field', { has: url }).locator('.fault');
  await fault.getByText('there is no macro {Foo}').waitFor();

  await window.field('Receiver written for').selectOption('BitLabs');
  const query =
    '?uid={PanelistId}&val={Reward}&usd={RevenueAmount}&tx={RewardId}&hash={QuerySignature}';
  await window.shows(async () => {
    assert.equal(await url.inputValue(), `${receiver.url}/cb${query}`);
    assert.equal(await window.field('Request format').inputValue(), 'get');
  });
  await window.button('Preview').focus();
  await window.page.keyboard.press('Enter');
  const shown = window.page.locator('.code', { hasText: 'Request to SuccessCallbackUrl' });
  await shown.getByText(`GET ${receiver.url}/cb?uid=test-user-1&val=1.00&usd=1.00&tx=`).waitFor();
  await shown.getByText('webhook-signature: v1,').waitFor();
  assert.deepEqual(await window.accessibilityFaults(), []);
  await window.page.emulateMedia({ colorScheme: 'dark' });
  assert.deepEqual(await window.accessibilityFaults(['color-contrast']), []);
  await window.page.setViewportSize({ width: 360, height: 740 });
  await window.fits();

  // What was shown is no longer what would be sent.
  await window.field('Trim decimals').check();
  await shown.waitFor({ state: 'detached' });
  await window.button('Preview').click();
  await shown.getByText('&val=1&usd=1&tx=').waitFor();
  assert.equal(receiver.received.length, 0);
  await window.field('Receiver written for').selectOption('Pollfish');
  await window.field('Receiver written for').selectOption('BitLabs');
  await window.shows(async () =>
    assert.equal(await url.inputValue(), `${receiver.url}/cb${query}`),
  );

  await window.page
    .getByRole('form', { name: 'Survey callbacks', exact: true })
    .getByText('Save')
    .click();
  await window.said('Saved.');
  const app = await daemon.good('GET', '/api/v1/apps/preset-app');
  assert.deepEqual([app.RequestFormat, app.TrimDecimals], ['get', true]);
  await daemon.good('POST', '/api/v1/events', {
    EventId: 'preset-1',
    Type: 'survey_completed',
    ClientId: 'preset-sdk',
    PanelistId: 'test-user-1',
    RevenueAmount: '1',
  });
  const sent = await until('the callback', async () => receiver.received[0]);
  assert.match(sent.path, /^\/cb\?uid=test-user-1&val=10&usd=1&tx=preset-1&hash=[0-9a-f]{64}$/);
  await window.close();
  await receiver.stop();
});

test('urls: numbers, form and macros of offers are previewed, saved, and sent so', async () => {
  const { daemon } = await theStage();
  const receiver = await Receiver.start();
  await daemon.good('POST', '/api/v1/partners/sunny-games/apps', {
    AppId: 'whole-app',
    Name: 'Whole App',
    CurrencyValue: 10,
  });
  const client = { ClientId: 'whole-sdk', Integration: 'sdk' };
  await daemon.good('POST', '/api/v1/apps/whole-app/clients', client);
  const window = await windowOf('developer', 'sunny-games');
  await window.go('/apps/whole-app/callback');
  const url = `${receiver.url}/offers?goal={OfferGoalId}&micros={RewardMicros}`;
  await window.field('Offer Callback URL').fill(url);
  const shown = window.page.locator('.code', { hasText: 'Request to OfferCallbackUrl' });
  const preview = async (...texts: string[]) => {
    await shown.waitFor({ state: 'detached' });
    await window.button('Preview').click();
    for (const text of texts) await shown.getByText(text).waitFor();
  };
  await preview(
    `POST ${receiver.url}/offers?goal=1&micros=1000000`,
    '"OfferGoalId":"1"',
    '"Reward":1.00',
  );
  await window.field('Numeric OfferGoalId').check();
  await preview('"OfferGoalId":1,', '"Reward":1.00');
  await window.field('Trim decimals').check();
  await preview('"OfferGoalId":1,', '"Reward":1,');
  await window.field('Request format').selectOption('form');
  await preview('Content-Type: application/x-www-form-urlencoded', 'OfferGoalId=1&', 'Reward=1&');
  assert.deepEqual(await window.accessibilityFaults(), []);
  assert.equal(receiver.received.length, 0);

  const form = window.page.getByRole('form', { name: 'Offer callbacks', exact: true });
  await form.getByRole('button', { name: 'Save' }).click();
  await window.said('Saved.');
  const app = await daemon.good('GET', '/api/v1/apps/whole-app');
  assert.deepEqual(
    [app.OfferCallbackUrl, app.RequestFormat, app.TrimDecimals, app.NumericOfferGoalId],
    [url, 'form', true, true],
  );
  await daemon.good('POST', '/api/v1/events', {
    EventId: 'whole-1',
    Type: 'offer_completed',
    ClientId: 'whole-sdk',
    PanelistId: 'p',
    RevenueAmount: '0.50',
    OfferId: 7,
    OfferTitle: 'An offer',
    OfferGoalId: '20',
  });
  const sent = await until('the callback', async () => receiver.received[0]);
  assert.equal(sent.path, '/offers?goal=20&micros=5000000');
  assert.match(sent.body, /&OfferGoalId=20&.*&Reward=5&RevenueAmount=0.5&/);
  const { Body } = await daemon.good('GET', '/api/v1/callbacks/whole-1?partnerId=sunny-games');
  assert.match(Body, /"OfferGoalId":20,.*"Reward":5,/);
  await window.close();
  await receiver.stop();
});

test('urls: tests are withheld, and types that nobody wants are not sent', async () => {
  const { daemon } = await theStage();
  const receiver = await Receiver.start();
  await daemon.good('POST', '/api/v1/partners/sunny-games/apps', {
    AppId: 'quiet-app',
    Name: 'Quiet App',
    CurrencyValue: 10,
    SuccessCallbackUrl: `${receiver.url}/success`,
    TestCallbackUrl: `${receiver.url}/tests`,
  });
  const client = { ClientId: 'quiet-sdk', Integration: 'sdk' };
  await daemon.good('POST', '/api/v1/apps/quiet-app/clients', client);
  const app = () => daemon.good('GET', '/api/v1/apps/quiet-app');
  const callback = (id: string) =>
    daemon.good('GET', `/api/v1/callbacks/${id}?partnerId=sunny-games`);
  const window = await windowOf('developer', 'sunny-games');
  await window.go('/apps/quiet-app');
  const card = window.page.getByRole('form', { name: 'Tests', exact: true });
  await card.getByLabel('Withhold tests').check();
  await card.getByLabel('Test Callback URL').fill('');
  await card.getByRole('button', { name: 'Save' }).click();
  await window.said('Saved.');
  const { WithholdTests, TestCallbackUrl } = await app();
  assert.deepEqual([WithholdTests, TestCallbackUrl], [true, null]);
  await window.button('Test Success (surveys)').click();
  await window.see('Delivered: answered 200');
  assert.deepEqual(
    receiver.received.map(one => one.path),
    ['/success'],
  );

  await window.link('Postback (surveys)').click();
  const types = window.page.getByRole('form', { name: 'Reward types' });
  await types.getByLabel('Every type').uncheck();
  await types.getByLabel('Ad hoc').uncheck();
  await types.getByRole('button', { name: 'Save' }).click();
  await window.said('Saved.');
  assert.ok(!(await app()).RewardTypes.includes('ad_hoc'));
  const common = { ClientId: 'quiet-sdk', PanelistId: 'p' };
  const survey = { Type: 'survey_completed', RevenueAmount: 1, ...common };
  await daemon.good('POST', '/api/v1/events', [
    { EventId: 'quiet-test', IsTest: true, ...survey },
    { EventId: 'quiet-ad-hoc', Type: 'ad_hoc', Reward: 1, ...common },
    { EventId: 'quiet-real', ...survey },
  ]);
  await until('the real one is sent', async () => (await callback('quiet-real')).Attempts[0]);
  for (const [id, said] of [
    ['quiet-test', 'The app withholds tests, does not receive this type, or'],
    ['quiet-ad-hoc', 'The app does not receive callbacks of this type.'],
  ] as const) {
    const { State, Reason, Attempts } = await callback(id);
    assert.deepEqual([State, Reason, Attempts], ['skipped', 'not_wanted', []]);
    await window.go(`/callbacks/${id}`);
    await window.page.getByText(said).waitFor();
  }
  assert.equal(receiver.received.length, 2);
  await window.close();
  await receiver.stop();
});
