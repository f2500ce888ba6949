// Signing in by an identity provider, as the page of who is not signed in shows it.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
