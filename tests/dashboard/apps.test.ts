// Settings: rewards, URLs, secrets, clients, keys. Each test has an app of its own.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { until, type Daemon } from './daemon';
import { test } from './runner';
import { theStage, windowOf } from './stage';

async function makeCertificate(): Promise<{ certificate: string; key: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'certificate-'));
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const names = ['-subj', '/CN=callbacks.example', '-days', '30', '-nodes', '-newkey', 'ec'];
  const how = ['-pkeyopt', 'ec_paramgen_curve:P-256', '-keyout', key, '-out', certificate];
  await promisify(execFile)('openssl', ['req', '-x509', ...names, ...how]);
  const made = {
    certificate: await readFile(certificate, 'utf8'),
    key: await readFile(key, 'utf8'),
  };
  await rm(folder, { recursive: true });
  return made;
}

const makeApp = (daemon: Daemon, AppId: string) =>
  daemon.good('POST', '/api/v1/partners/sunny-games/apps', { AppId, CurrencyValue: 10 });

test('apps: a new app, and the preview is what the daemon computes', async () => {
  const { daemon } = await theStage();
  const window = await windowOf('owner', 'sunny-games');
  window.expect(/status of 4(00|09)/);
  await window.go('/apps');
  await window.button('New app').click();
  await window.field('Name').fill('Block Party');
  await window.field('AppId').fill('farm-friends');
  await window.field('Currency Value').fill('33.333333');
  await window.button('Create').click();
  await window.page.getByRole('dialog').locator('.fault, [role=alert]').first().waitFor();
  await window.field('AppId').fill('block-party');
  await window.button('Create').click();
  await window.heading('Block Party').waitFor();
  await window.link('General').click();
  const previews = (reward: string) =>
    window.shows(async () =>
      assert.deepEqual((await window.rows('Preview of rewards'))[1], ['$0.35', reward]),
    );
  await previews('11.67');
  await window.field('Decimal places').fill('0');
  await previews('12');
  await window.field('Currency Value').fill('0');
  await window.button('Save').first().click();
  await window.page.locator('.fault').waitFor();
  await window.field('Currency Value').fill('72.5');
  await window.button('Save').first().click();
  await window.said('Saved.');
  const app = await daemon.good('GET', '/api/v1/apps/block-party');
  assert.deepEqual([app.CurrencyValue, app.RewardDecimals], [72.5, 0]);
  await window.close();
});

test('apps: a URL that cannot be is refused by name, and http is warned of', async () => {
  const { daemon } = await theStage();
  await makeApp(daemon, 'urls');
  const window = await windowOf('developer', 'sunny-games');
  window.expect(/status of 400/);
  await window.go('/apps/urls/postback');
  await window.field('Success Callback URL').fill('https://10.0.0.1/x');
  await window.button('Save').first().click();
  await window.page.locator('.fault').first().waitFor();
  await window.field('Success Callback URL').fill('http://receiver.example/x');
  await window.see('http is not encrypted');
  await window.field('Success Callback URL').fill('https://receiver.example/x?k=1');
  await window.button('Save').first().click();
  await window.said('Saved.');
  const stored = async () => (await daemon.good('GET', '/api/v1/apps/urls')).SuccessCallbackUrl;
  assert.equal(await stored(), 'https://receiver.example/x?k=1');
  await window.field('Success Callback URL').fill('');
  await window.button('Save').first().click();
  await window.said('Saved.');
  assert.equal(await stored(), null);
  await window.close();
});

test('apps: final answers are a list, and what is none is refused by name', async () => {
  const { daemon } = await theStage();
  await makeApp(daemon, 'finals');
  const window = await windowOf('developer', 'sunny-games');
  window.expect(/status of 400/);
  await window.go('/apps/finals/postback');
  const form = window.page.getByRole('form', { name: 'Final statuses' });
  const save = async (text: string) => {
    await form.getByLabel('Statuses', { exact: true }).fill(text);
    await form.getByRole('button', { name: 'Save' }).click();
  };
  const stored = async () => (await daemon.good('GET', '/api/v1/apps/finals')).FinalStatuses;
  await save('404, 503');
  await window.see('leave out 503');
  await save('some');
  await window.see('must hold whole numbers only');
  await save('422 404');
  await window.said('Saved.');
  assert.deepEqual(await stored(), [404, 422]);
  await window.shows(async () =>
    assert.equal(await form.getByLabel('Statuses', { exact: true }).inputValue(), '404, 422'),
  );
  await save('');
  await until('none is left', async () => (await stored()).length === 0);
  await window.close();
});

test('apps: reward types are chosen one by one, and none at all is refused', async () => {
  const { daemon } = await theStage();
  await makeApp(daemon, 'choosy');
  const window = await windowOf('developer', 'sunny-games');
  window.expect(/status of 400/);
  await window.go('/apps/choosy/callback');
  const form = window.page.getByRole('form', { name: 'Reward types' });
  const save = () => form.getByRole('button', { name: 'Save' }).click();
  const stored = async () => (await daemon.good('GET', '/api/v1/apps/choosy')).RewardTypes;
  await form.getByLabel('Every type').click();
  const boxes = form.getByRole('checkbox');
  await window.shows(async () => assert.equal(await boxes.count(), 8));
  for (let i = 1; i < 8; i++) await boxes.nth(i).uncheck();
  await save();
  await window.see('must be a list of at least one RewardType');
  await form.getByLabel('Offer completed').check();
  await save();
  await window.said('Saved.');
  assert.deepEqual(await stored(), ['offer_completed']);
  await form.getByLabel('Every type').check();
  await save();
  await until('every type is sent again', async () => (await stored()) === null);
  await window.close();
});

test('apps: what a success must say is chosen, filled in, and taken back', async () => {
  const { daemon } = await theStage();
  await makeApp(daemon, 'wordy');
  const window = await windowOf('developer', 'sunny-games');
  window.expect(/status of 400/);
  await window.go('/apps/wordy/callback');
  const form = window.page.getByRole('form', { name: 'Success answer' });
  const save = () => form.getByRole('button', { name: 'Save' }).click();
  const stored = async () => (await daemon.good('GET', '/api/v1/apps/wordy')).SuccessAnswer;
  await form.getByLabel('Success is').selectOption('Field');
  await form.getByLabel('Field', { exact: true }).fill('/a~2');
  await form.getByLabel('Value').fill('ok');
  await save();
  await window.see('is no JSON Pointer');
  await form.getByLabel('Field', { exact: true }).fill('status');
  await save();
  await window.said('Saved.');
  assert.deepEqual(await stored(), { Field: 'status', Value: 'ok' });
  await form.getByLabel('Success is').selectOption('Body');
  await window.shows(async () =>
    assert.equal(await form.getByLabel('Body', { exact: true }).inputValue(), 'ok'),
  );
  await save();
  await window.said('Saved.');
  assert.deepEqual(await stored(), { Body: 'ok' });
  await form.getByLabel('Success is').selectOption('any');
  await save();
  await until('any 2xx is one again', async () => (await stored()) === null);
  await window.close();
});

test('apps: a change that somebody else made meanwhile is not overwritten', async () => {
  const { daemon } = await theStage();
  await makeApp(daemon, 'meanwhile');
  const window = await windowOf('developer', 'sunny-games');
  window.expect(/status of 412/);
  await window.go('/apps/meanwhile');
  await window.field('Name').fill('Changed');
  await daemon.good('PATCH', '/api/v1/apps/meanwhile', { Name: 'Changed elsewhere' });
  await window.field('Name').fill('Changed here');
  await window.button('Save').first().click();
  await window.see('Somebody else changed it at the same time');
  assert.equal((await daemon.good('GET', '/api/v1/apps/meanwhile')).Name, 'Changed elsewhere');
  await window.close();
});

test('apps: the secret is hidden until it is shown, and rotates', async () => {
  const { daemon } = await theStage();
  await makeApp(daemon, 'secretive');
  const secretNow = async () =>
    (await daemon.good('GET', '/api/v1/apps/secretive/secret')).CallbackSecret;
  const before = await secretNow();
  const window = await windowOf('developer', 'sunny-games');
  await window.go('/apps/secretive/postback');
  await window.button('Show').waitFor();
  await window.lacks(before);
  await window.button('Show').click();
  await window.see(before);
  await window.button('Hide').click();
  await window.text(before).waitFor({ state: 'detached' });
  await window.button('Rotate').click();
  await window.field('Overlap').fill('1');
  await window.confirm('Rotate');
  await window.see('The old secret is valid until');
  const after = await secretNow();
  assert.notEqual(after, before);
  await window.see(after);
  await window.go('/apps/secretive/callback');
  await window.button('Show').click();
  await window.see(after);
  await window.close();
});

test('apps: a client certificate is set, shown and taken away', async () => {
  const { daemon } = await theStage();
  await makeApp(daemon, 'certified');
  const made = await makeCertificate();
  const window = await windowOf('developer', 'sunny-games');
  window.expect(/status of 400/);
  await window.go('/apps/certified/callback');
  await window.button('Add').click();
  await window.field('Certificate').fill(made.certificate);
  await window.field('Private key').fill('no key');
  await window.button('Save certificate').click();
  await window.page.locator('.fault').waitFor();
  await window.field('Private key').fill(made.key);
  await window.button('Save certificate').click();
  await window.see('callbacks.example');
  assert.ok((await daemon.good('GET', '/api/v1/apps/certified')).ClientCertificate.Sha256);
  await window.button('Remove').click();
  await window.confirm('Remove');
  await window.see('None. Callbacks are sent without a certificate.');
  await window.close();
});

test('apps: clients are made and switched off', async () => {
  const { daemon } = await theStage();
  await makeApp(daemon, 'party');
  const window = await windowOf('developer', 'sunny-games');
  await window.go('/apps/party/clients');
  await window.see('No client yet');
  await window.button('New client').first().click();
  await window.field('ClientId').fill('party-web');
  await window.field('Integration').selectOption('iframe');
  await window.button('Create').click();
  await window.said('Client party-web created.');
  await window.button('Switch off party-web').click();
  await window.confirm('Switch off');
  await window.button('Switch on party-web').waitFor();
  assert.equal((await daemon.good('GET', '/api/v1/clients/party-web')).Enabled, false);
  await window.close();
});

test('apps: a key is shown once, works, and is revoked', async () => {
  const { daemon } = await theStage();
  const window = await windowOf('developer', 'sunny-games');
  await window.go('/keys');
  await window.button('New key').first().click();
  await window.field('Name').fill('nightly export');
  await window.button('Create').click();
  const shown = window.page.getByRole('region', { name: 'Key', exact: true });
  const key = await window.textOf(shown);
  await window.button('I have copied it').click();
  assert.equal((await daemon.ask('GET', '/api/v1/reports/earnings', undefined, key)).status, 200);
  assert.equal((await daemon.ask('GET', '/api/v1/callbacks', undefined, key)).status, 403);
  await window.button('Revoke nightly export').waitFor();
  await window.lacks(key);
  await window.button('Revoke nightly export').click();
  await window.confirm('Revoke');
  await window.said('Key revoked.');
  assert.equal((await daemon.ask('GET', '/api/v1/reports/earnings', undefined, key)).status, 401);
  await window.close();
});
