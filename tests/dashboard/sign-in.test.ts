// Signing in by an identity provider, as the page of who is not signed in shows it.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Window } from './browser';
import { Daemon } from './daemon';
import { test } from './runner';
import { theStage } from './stage';

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
