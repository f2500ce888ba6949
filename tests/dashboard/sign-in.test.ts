// Signing in by an identity provider, as the page of who is not signed in shows it.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { Window } from './browser';
import { Daemon } from './daemon';
import { test } from './runner';
import { invite, password, theStage } from './stage';

test('sign-in: each provider has a link, and what came of it is said', async () => {
  await theStage(); // the browser
  const directory = await mkdtemp(join(tmpdir(), 'postbackd-sign-in-'));
  const file = join(directory, 'sign-in.json');
  const provider = {
    Name: 'Example staff',
    Issuer: 'http://127.0.0.1:1', // nobody answers there
    ClientId: 'postbackd',
    Groups: { admins: 'admin' },
  };
  await writeFile(file, JSON.stringify({ Providers: [provider] }));
  const daemon = await Daemon.start('--sign-in-file', file);
  const window = await Window.open(daemon.url);
  await window.go('/');
  await window.field('Password').waitFor();
  await window.link('Sign in with Example staff').focus();
  await window.page.keyboard.press('Enter');
  await window.see('The provider cannot be reached, or its answer is not valid.');
  await window.go('/?problem=account-disabled');
  await window.see('Your account is disabled. Ask who runs this server.');
  assert.deepEqual(await window.accessibilityFaults(), []);
  await window.page.emulateMedia({ colorScheme: 'dark' });
  assert.deepEqual(await window.accessibilityFaults(['color-contrast']), []);
  await window.page.setViewportSize({ width: 360, height: 740 });
  await window.fits();

  await writeFile(file, JSON.stringify({ Providers: [provider], Passwords: false }));
  await daemon.kill();
  await daemon.run();
  await window.go('/');
  await window.link('Sign in with Example staff').waitFor();
  await window.lacks(window.field('Password'));
  await window.close();
  await daemon.stop();
  await rm(directory, { recursive: true });
});

test('sign-in: a passkey is added, signs in, and is removed', async () => {
  const { daemon } = await theStage();
  // Passkeys need a name.
  const window = await Window.open(daemon.url.replace('127.0.0.1', 'localhost'));
  window.expect(/status of 40[01]/);
  const devices = await window.context.newCDPSession(window.page);
  await devices.send('WebAuthn.enable');
  const { authenticatorId } = await devices.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  const signIn = window.button('Sign in with a passkey');
  await window.go(await invite(daemon, 'pass@sunny.example', 'owner', 'sunny-games'));
  await window.field('Password').fill(password);
  await window.button('Create my account').click();
  await window.heading('Overview').waitFor();

  await window.go('/account');
  await window.button('Add a passkey').click();
  await window.field('Name').fill('My phone');
  await window.field('Your password').fill('not the password');
  await window.button('Continue').click();
  await window.page.locator('.fault').waitFor();
  await window.field('Your password').fill(password);
  await window.button('Continue').click();
  await window.said('Passkey added.');
  await window.shows(async () => assert.equal((await window.rows('Passkeys'))[0]![0], 'My phone'));
  assert.deepEqual(await window.accessibilityFaults(), []);
  await window.button('Add a passkey').click();
  await window.field('Name').fill('The same phone');
  await window.field('Your password').fill(password);
  await window.button('Continue').click();
  await window.see('Your device gave no passkey.');
  await window.button('Cancel').click();

  await window.button('Sign out').click();
  await signIn.click();
  await window.heading('Overview').waitFor();
  await window.go('/account');
  await window.shows(async () => assert.notEqual((await window.rows('Passkeys'))[0]![2], '–'));
  const { credentials } = await devices.send('WebAuthn.getCredentials', { authenticatorId });
  assert.equal(credentials.length, 1);
  assert.ok(credentials[0]!.signCount > 0);

  await window.button('Remove My phone').click();
  await window.said('Passkey removed. All other sessions ended.');
  await window.lacks(window.page.getByRole('table', { name: 'Passkeys' }));
  await window.button('Sign out').click();
  await signIn.click();
  await window.see('This passkey does not sign in anybody here.');
  assert.deepEqual(await window.accessibilityFaults(), []);
  await window.close();
});

/** npm's oidc-provider, and what a file of --sign-in-file says of it. */
async function startProvider(directory: string) {
  const tool = ['../tools/dashboard.py', 'packages', 'provider'];
  await promisify(execFile)('/usr/bin/python3', tool);
  const child = spawn('node', ['../tests/provider/provider.mjs'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [line] = await once(createInterface(child.stdout), 'line');
  const { Issuer, ClientId, Secret } = JSON.parse(line as string);
  const ClientSecretFile = join(directory, 'secret');
  await writeFile(ClientSecretFile, Secret);
  return {
    entry: { Name: 'Example staff', Issuer, ClientId, ClientSecretFile },
    async control(url: string, login: string) {
      const people = { grace: { groups: ['staff'] }, nobody: {} };
      const redirectUri = `${url}/api/v1/sign-in/callback`;
      const body = JSON.stringify({ redirectUri, people, login, algorithm: 'RS256' });
      await fetch(`${Issuer}/control`, { method: 'POST', body });
    },
    async stop() {
      child.kill();
      await once(child, 'exit');
    },
  };
}

test('sign-in: a user is linked to a provider, signs in by it, and is unlinked', async () => {
  await theStage(); // the browser
  const directory = await mkdtemp(join(tmpdir(), 'postbackd-identity-'));
  const file = join(directory, 'sign-in.json');
  const provider = await startProvider(directory);
  const Groups = { staff: 'admin' };
  await writeFile(file, JSON.stringify({ Providers: [{ ...provider.entry, Groups }] }));
  const daemon = await Daemon.start('--sign-in-file', file);
  // Another site than the provider's, as in life: cookies of the session stay away on the way back.
  const url = daemon.url.replace('127.0.0.1', 'localhost');
  const window = await Window.open(url);
  window.expect(/status of 40[09]/, new RegExp(`^asked elsewhere: ${provider.entry.Issuer}/`));
  await window.go(await invite(daemon, 'kay@operator.example', 'admin'));
  await window.field('Password').fill(password);
  await window.button('Create my account').click();
  await window.button('Sign out').waitFor();

  await window.go('/account');
  await provider.control(url, 'nobody');
  const linkIt = async () => {
    await window.button('Link Example staff').click();
    await window.field('Your password').fill(password);
    await window.button('Continue').click();
  };
  await window.button('Link Example staff').click();
  await window.field('Your password').fill('not the password');
  await window.button('Continue').click();
  await window.page.locator('.fault').waitFor();
  assert.deepEqual(await window.accessibilityFaults(), []);
  await window.button('Cancel').click();
  await linkIt();
  await window.see('None of your groups at the provider has a role here');
  // The code is out of the address bar.
  await window.shows(() => assert.equal(new URL(window.page.url()).hash, ''));
  await provider.control(url, 'grace');
  await linkIt();
  await window.said('Linked. You can sign in by the provider now.');
  await window.see('You are linked to Example staff as grace.');
  assert.deepEqual(await window.accessibilityFaults(), []);
  await window.page.setViewportSize({ width: 360, height: 740 });
  await window.fits();
  await window.page.setViewportSize({ width: 1280, height: 800 });

  await window.button('Sign out').click();
  await window.link('Sign in with Example staff').click();
  await window.button('Sign out').waitFor();
  await window.go('/account');
  await window.see('kay@operator.example');
  await window.button('Unlink').click();
  await window.field('Your password').fill(password);
  await window.page.getByRole('dialog').getByRole('button', { name: 'Unlink' }).click();
  await window.said('Unlinked. All other sessions ended.');
  await window.button('Link Example staff').waitFor();
  await window.go('/account?problem=refused');
  await window.see('You are not linked');
  await window.go('/audit');
  await window.see('Linked an identity to');
  await window.close();
  await daemon.stop();
  await provider.stop();
  await rm(directory, { recursive: true });
});
