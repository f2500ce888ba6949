// The test console: the very bytes, and why a signature does not match.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { until, type Receiver } from './daemon';
import { test } from './runner';
import { theStage, windowOf } from './stage';

/** What came with this in its body; other callbacks come beside it. */
const cameWith = (receiver: Receiver, part: string) =>
  until(`${part} is received`, async () => receiver.received.find(one => one.body.includes(part)));

test('console: each kind is sent, and its bytes and answer are shown', async () => {
  const { receiver } = await theStage();
  const window = await windowOf('developer', 'sunny-games');
  await window.go('/console?app=farm-friends');
  for (const type of ['survey_completed', 'offer_clicked', 'offer_completion_reversed']) {
    await window.field('RewardType').selectOption(type);
    await window.field('PanelistId').fill(`tester-${type}`);
    await window.button('Send').click();
    await window.see('Delivered: answered');
    const got = await cameWith(receiver, `"tester-${type}"`);
    assert.equal(JSON.parse(got.body).RewardType, type);
    const part = (name: string) => window.textOf(window.page.getByRole('region', { name }));
    await window.shows(async () => assert.ok((await part('Request')).endsWith(got.body), type));
    await window.shows(async () => assert.match(await part('Response'), /^200[^]*ok$/));
    await window.page.reload();
  }
  await window.close();
});

test('console: what postbackd listen was answered is shown, here and with the callback', async () => {
  const { daemon, receiver } = await theStage();
  const report = (RewardId: string, fields: object) =>
    daemon.good('POST', '/api/v1/forwards?partnerId=sunny-games', { RewardId, ...fields });
  const window = await windowOf('developer', 'sunny-games');
  await window.go('/console?app=farm-friends');
  await window.field('PanelistId').fill('tester-forwarded');
  await window.button('Send').click();
  await window.see('Result of the test');
  const sent = JSON.parse((await cameWith(receiver, '"tester-forwarded"')).body);
  await report(sent.RewardId, { Status: 422, DurationMs: 12, Detail: 'no such panelist here' });
  await window.see('Forwarded by postbackd listen');
  await window.see('no such panelist here');
  await daemon.good('POST', '/api/v1/events', {
    EventId: 'forwarded-1',
    Type: 'survey_completed',
    ClientId: 'farm-ios',
    PanelistId: 'forwarded',
    RevenueAmount: '0.60',
  });
  await report('forwarded-1', { DurationMs: 3, Detail: 'Connection refused' });
  await window.go('/callbacks/forwarded-1');
  await window.see('no answer');
  await window.see('Connection refused');
  await window.close();
});

test('console: an address typed in, and what a failure means', async () => {
  const { broken } = await theStage();
  const window = await windowOf('developer', 'sunny-games');
  window.expect(/status of 400/);
  await window.go('/console?app=farm-friends');
  await window.field('URL').fill(`${broken.url}/typed`);
  await window.button('Send').click();
  await window.see('Your code failed');
  assert.ok(broken.received.some(one => one.path === '/typed'));
  await window.field('URL').fill('ftp://nowhere');
  await window.button('Send').click();
  await window.page.locator('.fault').waitFor();
  await window.close();
});

test('console: a received body is judged', async () => {
  const { daemon, receiver } = await theStage();
  await daemon.good('POST', '/api/v1/events', {
    EventId: 'judge-1',
    Type: 'survey_completed',
    ClientId: 'farm-ios',
    PanelistId: 'judged',
    RevenueAmount: '0.60',
  });
  const window = await windowOf('developer', 'sunny-games');
  await window.go('/console?app=farm-friends&do=verify');
  const sent = await cameWith(receiver, '"judge-1"');
  const judge = async (body: string) => {
    await window.field('Body').fill(body);
    await window.button('Verify').click();
  };
  await judge(sent.body);
  await window.see('Sig matches');
  await window.see('The body is unchanged');
  assert.match(sent.body, /72\.00/);
  await judge(sent.body.replace('72.00', '72.0'));
  await window.see(/They differ at character/);
  const secret = (await daemon.good('GET', '/api/v1/apps/farm-friends/secret')).CallbackSecret;
  const turned = createHash('md5').update(`judge-1judged${secret}`).digest('hex');
  await judge(sent.body.replace(/"Sig":"[0-9a-f]+"/, `"Sig":"${turned}"`));
  await window.see('made in the order RewardId, PanelistId, secret');
  await window.text('Your secret and the headers').click();
  await window.field('The secret your server uses').fill(`${secret} `);
  await judge(sent.body);
  await window.see('your secret is not this app');
  await window.field('The secret your server uses').fill('');
  await window.field('webhook-id').fill(String(sent.headers['webhook-id']));
  await window.field('webhook-timestamp').fill(String(sent.headers['webhook-timestamp']));
  await window.field('webhook-signature').fill(String(sent.headers['webhook-signature']));
  await judge(sent.body);
  await window.see('webhook-signature matches');
  await window.close();
});

test('console: the snippets take the app’s own secret when they are told to', async () => {
  const { daemon } = await theStage();
  const secret = (await daemon.good('GET', '/api/v1/apps/farm-friends/secret')).CallbackSecret;
  const window = await windowOf('developer', 'sunny-games');
  await window.go('/docs/verify');
  await window.field('With the values of').selectOption('farm-friends');
  await window.button('Python').click();
  await window.see('hashlib.md5');
  await window.lacks(secret);
  await window.button('Fill in the secret').click();
  await window.see(secret);
  await window.close();
});
