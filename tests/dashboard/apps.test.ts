// Settings: rewards, URLs, secrets, clients, keys.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { until } from './daemon';
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

test('apps: a new app, and the preview is what the daemon computes', async () => {
  const { daemon } = await theStage();
  const window = await windowOf('owner', 'sunny-games');
  window.expect(/status of 4(00|09)/);
  await (await window.go('/apps')).settled();
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
  const preview = await window.rows('Preview of rewards');
  assert.deepEqual(preview[1], ['$0.35', '11.67']);
  await window.field('Digits behind the point').fill('0');
  assert.deepEqual((await window.rows('Preview of rewards'))[1], ['$0.35', '12']);
  await window.field('Currency Value').fill('0');
  await window.button('Save').first().click();
  await window.page.locator('.fault').waitFor();
  await window.field('Currency Value').fill('72.5');
  await window.button('Save').first().click();
  await window.see('Saved.');
  const app = await daemon.good('GET', '/api/v1/apps/block-party');
  assert.deepEqual([app.CurrencyValue, app.RewardDecimals], [72.5, 0]);
  await window.close();
});

test('apps: a URL that cannot be is refused by name, and http is warned of', async () => {
  const { daemon } = await theStage();
  const window = await windowOf('developer', 'sunny-games');
  window.expect(/status of 400/);
  await (await window.go('/apps/block-party/postback')).settled();
  await window.field('Success Callback URL').fill('https://10.0.0.1/x');
  await window.button('Save').first().click();
  await window.page.locator('.fault').first().waitFor();
  await window.field('Success Callback URL').fill('http://receiver.example/x');
  await window.see('http is not encrypted');
  await window.field('Success Callback URL').fill('https://receiver.example/x?k=1');
  await window.button('Save').first().click();
  await window.see('Saved.');
  assert.equal(
    (await daemon.good('GET', '/api/v1/apps/block-party')).SuccessCallbackUrl,
    'https://receiver.example/x?k=1',
  );
  await window.field('Success Callback URL').fill('');
  await window.button('Save').first().click();
  await until('the URL is cleared', async () => {
    const app = await daemon.good('GET', '/api/v1/apps/block-party');
    return app.SuccessCallbackUrl === null;
  });
  await window.close();
});

test('apps: a change that somebody else made meanwhile is not overwritten', async () => {
  const { daemon } = await theStage();
  const window = await windowOf('developer', 'sunny-games');
  window.expect(/status of 412/);
  await (await window.go('/apps/block-party')).settled();
  await daemon.good('PATCH', '/api/v1/apps/block-party', { Name: 'Changed elsewhere' });
  await window.field('Name').fill('Changed here');
  await window.button('Save').first().click();
  await window.see('Somebody else changed it while you did');
  assert.equal((await daemon.good('GET', '/api/v1/apps/block-party')).Name, 'Changed elsewhere');
  await window.close();
});

test('apps: the secret is hidden until it is shown, and rotates', async () => {
  const { daemon } = await theStage();
  const before = (await daemon.good('GET', '/api/v1/apps/block-party/secret')).CallbackSecret;
  const window = await windowOf('developer', 'sunny-games');
  await (await window.go('/apps/block-party/postback')).settled();
  assert.ok(!(await window.page.content()).includes(before));
  await window.button('Show').click();
  await window.see(before);
  await window.button('Hide').click();
  await window.text(before).waitFor({ state: 'detached' });
  await window.button('Rotate').click();
  await window.field('Overlap').fill('1');
  await window.page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
  await window.see('The older secret is still live until');
  const after = (await daemon.good('GET', '/api/v1/apps/block-party/secret')).CallbackSecret;
  assert.notEqual(after, before);
  await window.see(after);
  await window.go('/apps/block-party/callback');
  await window.button('Show').click();
  await window.see(after);
  await window.close();
});

test('apps: a client certificate is set, shown and taken away', async () => {
  const { daemon } = await theStage();
  const made = await makeCertificate();
  const window = await windowOf('developer', 'sunny-games');
  window.expect(/status of 400/);
  await (await window.go('/apps/block-party/callback')).settled();
  await window.button('Set one').click();
  await window.field('Certificate').fill(made.certificate);
  await window.field('Private key').fill('no key');
  await window.button('Use it').click();
  await window.page.locator('.fault').waitFor();
  await window.field('Private key').fill(made.key);
  await window.button('Use it').click();
  await window.see('callbacks.example');
  assert.ok((await daemon.good('GET', '/api/v1/apps/block-party')).ClientCertificate.Sha256);
  await window.button('Remove').click();
  await window.page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await window.see('None: callbacks come without one.');
  await window.close();
});

test('apps: clients are made and switched off', async () => {
  const { daemon } = await theStage();
  const window = await windowOf('developer', 'sunny-games');
  await (await window.go('/apps/block-party/clients')).settled();
  await window.see('No client yet');
  await window.button('New client').first().click();
  await window.field('ClientId').fill('party-web');
  await window.field('Integration').selectOption('iframe');
  await window.button('Create').click();
  await window.see('Client party-web has been made.');
  await window.button('Switch off party-web').click();
  await window.button('Switch off').click();
  await window.button('Switch on party-web').waitFor();
  assert.equal((await daemon.good('GET', '/api/v1/clients/party-web')).Enabled, false);
  await window.close();
});

test('apps: a key is shown once, works, and is revoked', async () => {
  const { daemon } = await theStage();
  const window = await windowOf('developer', 'sunny-games');
  await (await window.go('/keys')).settled();
  await window.button('New key').first().click();
  await window.field('Name').fill('nightly export');
  await window.button('Create').click();
  const key = (await window.page
    .getByRole('region', { name: 'Key', exact: true })
    .textContent())!.trim();
  await window.button('I have copied it').click();
  assert.equal((await daemon.ask('GET', '/api/v1/reports/earnings', undefined, key)).status, 200);
  assert.equal((await daemon.ask('GET', '/api/v1/callbacks', undefined, key)).status, 403);
  assert.ok(!(await window.page.content()).includes(key));
  await window.button('Revoke nightly export').click();
  await window.page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await window.see('The key works no more.');
  assert.equal((await daemon.ask('GET', '/api/v1/reports/earnings', undefined, key)).status, 401);
  await window.close();
});
