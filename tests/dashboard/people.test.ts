// Who gets in: invitations, passwords, the second factor, sessions that end.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { Window } from './browser';
import { Daemon, until } from './daemon';
import { test } from './runner';
import { freshWindow, invite, password, theStage, totp, windowOf } from './stage';

test('people: a first start leads to the first administrator', async () => {
  await theStage();
  const daemon = await Daemon.startOnTerminal();
  const window = await Window.open(daemon.url);
  window.expect(/status of 400/);
  await window.go('/');
  await window.see('No users yet');
  const link = await until('the link is said', async () =>
    /http\S+(\/link#\S+)\s/.exec(daemon.said),
  );
  await window.go(link[1]!);
  await window.see('You become the first administrator of this installation.');
  await window.field('Name').fill('Ada');
  await window.field('Password').fill(password);
  await window.button('Create my account').click();
  await window.page.locator('.fault').waitFor();
  await window.field('E-mail').fill('ada@operator.example');
  await window.button('Create my account').click();
  await window.button('Sign out').click();
  await window.heading('Sign in').waitFor();
  await window.lacks(window.text('No users yet'));
  await window.close();
  await daemon.stop();
});

test('people: an invitation leads to the overview', async () => {
  const { daemon } = await theStage();
  const link = await invite(daemon, 'grace@sunny.example', 'developer', 'sunny-games');
  const window = await Window.open(daemon.url);
  window.expect(/status of 400/, /status of 404/);
  await window.go(link);
  await window.see('You join Sunny Games as developer, with grace@sunny.example.');
  // The token is out of the address bar.
  await window.shows(() => assert.equal(new URL(window.page.url()).hash, ''));
  await window.field('Password').fill('short');
  await window.button('Create my account').click();
  await window.page.locator('.fault').waitFor();
  await window.field('Password').fill(password);
  await window.button('Create my account').click();
  await window.heading('Overview').waitFor();
  await window.see('Sunny Games');
  await window.go(link);
  await window.heading('This link does not work').waitFor();
  await window.close();
});

test('people: a link of a disabled account asks for no password', async () => {
  const { daemon } = await theStage();
  const PartnerId = 'closed-games';
  await daemon.good('POST', '/api/v1/partners', { PartnerId, Name: 'Closed Games' });
  const link = await invite(daemon, 'ida@closed.example', 'owner', PartnerId);
  await daemon.good('PATCH', `/api/v1/partners/${PartnerId}`, { Enabled: false });
  const window = await Window.open(daemon.url);
  window.expect(/status of 403/);
  await window.go(link);
  await window.heading('This link does not work').waitFor();
  await window.see("This partner's account is disabled; its operator can enable it.");
  await window.lacks(window.field('Password'));
  await window.close();
});

test('people: links go by e-mail where the server sends any', async () => {
  const { daemon } = await theStage();
  const without = await Window.open(daemon.url);
  without.expect(/status of 409/);
  await without.go('/');
  await without.field('E-mail').fill('ida@sunny.example');
  await without.button('Forgot your password?').click();
  await without.see('This server sends no links by e-mail.');
  await without.lacks(without.text('Check your e-mail'));
  await without.close();
  // It knows where it is. Nobody takes its mail: that is no matter of who asks.
  const sends = await Daemon.start('--public-url', 'http://localhost');
  const window = await Window.open(sends.url);
  window.expect(/status of 400/);
  await window.go('/');
  await window.button('Forgot your password?').click();
  await window.see('Email');
  await window.field('E-mail').fill('ida@sunny.example');
  await window.button('Forgot your password?').click();
  await window.see('If ida@sunny.example has a password here');
  await window.go(await invite(sends, 'ada@operator.example', 'admin'));
  await window.field('Password').fill(password);
  await window.button('Create my account').click();
  await window.button('Sign out').waitFor();
  await window.go('/people');
  await window.button('Invite a person').click();
  await window.field('E-mail').fill('bob@operator.example');
  await window.button('Create invitation').click();
  await window.see('It goes out by e-mail');
  // The system page says what became of it.
  const mails = /0 sent, \d+ waiting, [1-9]\d* failed tr/;
  await window.go('/');
  await window.see(mails);
  await window.close();
  await sends.stop();
});

test('people: signing in, wrongly and rightly, and out again', async () => {
  const { daemon } = await theStage();
  await (await freshWindow('kay@sunny.example', 'owner', 'sunny-games')).close();
  const window = await Window.open(daemon.url);
  window.expect(/status of 401/);
  await window.go('/reports?report=conversions');
  await window.heading('Sign in').waitFor();
  await window.field('E-mail').fill('kay@sunny.example');
  await window.field('Password').fill('not the password');
  await window.button('Sign in').click();
  await window.see('E-mail or password is wrong. The password is case-sensitive.');
  await window.field('Password').fill(password);
  await window.field('Password').press('Enter');
  await window.heading('Reports').waitFor();
  // Where the link pointed to.
  await window.shows(() => assert.match(window.page.url(), /report=conversions$/));
  await window.button('Sign out').click();
  await window.heading('Sign in').waitFor();
  await window.close();
});

test('people: a second factor is switched on and asked for', async () => {
  const window = await freshWindow('lin@sunny.example', 'owner', 'sunny-games');
  window.expect(/status of 40[01]/);
  await window.go('/account');
  await window.button('Switch on').click();
  await window.field('Your password').fill(password);
  await window.button('Continue').click();
  const secret = await window.textOf(window.page.getByRole('region', { name: 'Key', exact: true }));
  const code = window.page.getByRole('img', { name: 'QR code of the key' });
  // As high as it is wide, of one of the sizes that there are, and its corner where it must be.
  await window.shows(async () => {
    const [, , wide, high] = (await code.getAttribute('viewBox'))!.split(' ').map(Number);
    assert.ok(wide === high && wide! > 8 + 21 && (wide! - 8 - 17) % 4 === 0, `${wide}`);
    assert.match((await code.locator('path').getAttribute('d'))!, /^M4 4h1v1h-1zM5 4h1v1h-1z/);
  });
  await window.field('Code').fill('000000');
  await window.button('Turn on').click();
  await window.page.locator('.fault').waitFor();
  await window.field('Code').fill(totp(secret));
  await window.button('Turn on').click();
  await window.see('Your recovery codes');
  const shown = await window.textOf(window.page.getByRole('region', { name: 'Recovery codes' }));
  const codes = shown.split('\n');
  assert.equal(codes.length, 10);
  await window.button('I have saved them').click();
  await window.button('New recovery codes').waitFor();
  await window.button('Sign out').click();
  await window.field('E-mail').fill('lin@sunny.example');
  await window.field('Password').fill(password);
  await window.button('Sign in').click();
  await window.heading('Second factor').waitFor();
  await window.field('Code').fill('111111');
  await window.button('Continue').click();
  await window.see('This code is wrong or has been used');
  await window.field('Code').fill(codes[0]!);
  await window.button('Continue').click();
  await window.heading('Overview').waitFor();
  await window.close();
});

test('people: a session that is ended elsewhere leads to the sign-in page and back', async () => {
  const { daemon } = await theStage();
  const window = await freshWindow('mia@sunny.example', 'owner', 'sunny-games');
  window.expect(/status of 401/);
  await window.go('/apps');
  await window.link('Farm Friends').waitFor();
  const { Items } = await daemon.good('GET', '/api/v1/users?partnerId=sunny-games');
  const { UserId } = Items.find((user: any) => user.Email === 'mia@sunny.example');
  await daemon.good('DELETE', `/api/v1/users/${UserId}/sessions`);
  await window.link('Farm Friends').click();
  await window.see('Your session has ended');
  await window.field('E-mail').fill('mia@sunny.example');
  await window.field('Password').fill(password);
  await window.button('Sign in').click();
  await window.heading('Farm Friends').waitFor();
  await window.close();
});

test('people: a session that has lain idle too long leads back to its page', async () => {
  await theStage();
  const daemon = await Daemon.startOnOwnClock();
  await daemon.good('POST', '/api/v1/partners', { PartnerId: 'late', Name: 'Late' });
  const app = { AppId: 'late-app', Name: 'Late app', CurrencyValue: 10 };
  await daemon.good('POST', '/api/v1/partners/late/apps', app);
  const window = await freshWindow('ida@late.example', 'owner', 'late', daemon);
  window.expect(/status of 401/);
  await window.go('/apps/late-app');
  await daemon.putForward(11.9 * 3600);
  await window.go('/apps/late-app');
  await window.heading('Late app').waitFor();
  await window.field('Name').fill('Later app');
  await daemon.putForward((11.9 + 12.1) * 3600);
  await window.button('Save').first().click();
  await window.see('Your session has ended');
  assert.equal((await daemon.good('GET', '/api/v1/apps/late-app')).Name, 'Late app');
  await window.field('E-mail').fill('ida@late.example');
  await window.field('Password').fill(password);
  await window.button('Sign in').click();
  await window.heading('Late app').waitFor();
  await window.shows(async () =>
    assert.equal(await window.field('Name').inputValue(), 'Later app', 'what was typed is there'),
  );
  await window.button('Save').first().click();
  await window.heading('Later app').waitFor();
  await window.close();
  await daemon.stop();
});

test('people: a session ends under a dialog, whose text is there after signing in again', async () => {
  const { daemon } = await theStage();
  const email = 'under@sunny.example';
  const window = await freshWindow(email, 'owner', 'sunny-games');
  window.expect(/status of 401/);
  await window.go('/keys');
  await window.button('New key').first().click();
  await window.field('Name').fill('typed before');
  const { Items } = await daemon.good('GET', '/api/v1/users?partnerId=sunny-games');
  const { UserId } = Items.find((user: any) => user.Email === email);
  await daemon.good('DELETE', `/api/v1/users/${UserId}/sessions`);
  await window.button('Create').click();
  await window.see('Your session has ended');
  await window.field('E-mail').fill(email);
  await window.field('Password').fill('not my password');
  await window.button('Sign in').click();
  await window.see('E-mail or password is wrong');
  await window.page.keyboard.press('Escape');
  await window.see('Your session has ended');
  await window.field('Password').fill(password);
  await window.button('Sign in').click();
  await window.shows(async () =>
    assert.equal(await window.field('Name').inputValue(), 'typed before'),
  );
  await window.button('Create').click();
  await window.see('Copy it now');
  await window.close();
});

test('people: what is shown once is closed by its own button only', async () => {
  const window = await freshWindow('once@sunny.example', 'owner', 'sunny-games');
  const stays = async (title: string, action: string) => {
    const dialog = window.page.getByRole('dialog', { name: title });
    await dialog.waitFor();
    for (let n = 0; n < 3; n++) await window.page.keyboard.press('Escape');
    await window.page.mouse.click(5, 5);
    await dialog.getByRole('button', { name: /^Copy / }).focus();
    await window.button(action).click();
    await dialog.waitFor({ state: 'detached' });
  };
  await window.go('/keys');
  await window.button('New key').first().click();
  await window.field('Name').fill('shown once');
  await window.button('Create').click();
  await stays('Key created', 'I have copied it');
  await window.go('/people');
  await window.button('Invite a person').click();
  await window.field('E-mail').fill('invited-once@sunny.example');
  await window.button('Create invitation').click();
  await stays('Link for invited-once@sunny.example', 'I have copied it');
  await window.close();
});

test('people: the other sessions are listed and can be ended', async () => {
  const { daemon } = await theStage();
  const window = await freshWindow('noa@sunny.example', 'owner', 'sunny-games');
  const other = await Window.open(daemon.url);
  other.expect(/status of 401/);
  await other.go('/');
  await other.field('E-mail').fill('noa@sunny.example');
  await other.field('Password').fill(password);
  await other.button('Sign in').click();
  await other.heading('Overview').waitFor();
  await window.go('/account');
  await window.button(/^End the session/).click();
  await window.said('Session ended.');
  await window.shows(async () => assert.equal((await window.rows('Sessions')).length, 1));
  await other.go('/callbacks');
  await other.heading('Sign in').waitFor();
  await window.close();
  await other.close();
});

test('people: everybody chooses their own e-mail', async () => {
  const { daemon } = await theStage();
  const email = 'una@sunny.example';
  const window = await freshWindow(email, 'analyst', 'sunny-games');
  await window.go('/account');
  await window.lacks(window.field('Books'));
  await window.shows(async () => assert.ok(await window.button('Save').isDisabled()));
  await window.field('Callback URLs').selectOption({ label: 'At once' });
  await window.field('Statements').selectOption({ label: 'Once a day, 07:00 UTC' });
  await window.button('Save').click();
  await window.said('Saved.');
  await window.shows(async () => assert.ok(await window.button('Save').isDisabled()));
  await window.go('/account');
  await window.shows(async () => {
    assert.equal(await window.field('Callback URLs').inputValue(), 'at_once');
    assert.equal(await window.field('Certificates').inputValue(), 'never');
    assert.equal(await window.field('Statements').inputValue(), 'daily');
  });
  const log = '/api/v1/audit?partnerId=sunny-games&action=user.mail_preferences_changed';
  assert.equal((await daemon.good('GET', log)).Items.length, 1);
  await window.close();
});

test('people: an analyst sees figures, and neither secrets nor buttons', async () => {
  const window = await windowOf('analyst', 'sunny-games');
  await window.go('/apps/farm-friends/postback');
  await window.see('Your role cannot see secrets');
  await window.lacks(window.button('Save'), window.link('Test console'));
  const url = window.field('Success Callback URL');
  await window.shows(async () => assert.ok(await url.isDisabled()));
  await window.go('/keys');
  await window.heading('Nothing here').waitFor();
  await window.close();
});

test('people: two accounts side by side never meet', async () => {
  const sunny = await windowOf('owner', 'sunny-games');
  const north = await windowOf('owner', 'north-studio');
  north.expect(/status of 404/);
  await sunny.go('/apps');
  await north.go('/apps');
  await sunny.link('Farm Friends').waitFor();
  await north.link('Ice Runner').waitFor();
  await north.lacks(north.link('Farm Friends'));
  await north.go('/apps/farm-friends');
  await north.see('Not found in this account');
  await north.go('/callbacks?appId=farm-friends');
  await north.see('has no app of this id');
  await sunny.close();
  await north.close();
});

test('people: an owner invites, changes a role and takes somebody out again', async () => {
  const { daemon } = await theStage();
  const window = await windowOf('owner', 'sunny-games');
  window.expect(/status of 409/, /status of 401/);
  await window.go('/people');
  await window.button('Invite a person').click();
  await window.field('E-mail').fill('owner@sunny-games.example');
  await window.button('Create invitation').click();
  await window.page.locator('.fault, [role=alert]').first().waitFor();
  await window.field('E-mail').fill('ola@sunny.example');
  await window.field('Role').selectOption('analyst');
  await window.button('Create invitation').click();
  const link = await window.textOf(window.page.getByRole('region', { name: 'Link' }));
  await window.button('I have copied it').click();
  const other = await Window.open(daemon.url);
  other.expect(/status of 401/);
  await other.go(link.replace(daemon.url, ''));
  await other.field('Password').fill(password);
  await other.button('Create my account').click();
  await other.heading('Overview').waitFor();
  await window.button('Manage ola@sunny.example').click();
  await window.field('Role').selectOption('developer');
  await window.button('Change the role').click();
  await window.said('Role changed.');
  await other.go('/apps');
  await other.heading('Sign in').waitFor();
  await window.button('Manage ola@sunny.example').click();
  await window.button('Remove').click();
  await window.button('Remove permanently').click();
  await window.button('Manage ola@sunny.example').waitFor({ state: 'detached' });
  await window.button('Manage owner@sunny-games.example').click();
  await window.see('This is you');
  await window.close();
  await other.close();
});

/** Signs in as a program that does not say which it is. */
function signInWithoutAgent(daemon: Daemon, email: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(
      `${daemon.url}/api/v1/session`,
      { method: 'POST', headers: { 'Content-Type': 'application/json' } },
      answer => {
        answer.resume();
        answer.on('end', () => resolve(answer.statusCode!));
      },
    );
    asked.on('error', reject);
    asked.end(JSON.stringify({ Email: email, Password: password }));
  });
}

test('people: a session without a User-Agent is in the list, too', async () => {
  const { daemon } = await theStage();
  const window = await freshWindow('agentless@sunny.example', 'owner', 'sunny-games');
  assert.equal(await signInWithoutAgent(daemon, 'agentless@sunny.example'), 200);
  await window.go('/account');
  await window.shows(async () => {
    const names = (await window.rows('Sessions')).map(row => row[0]);
    assert.equal(names.length, 2);
    assert.ok(names.includes('Unknown browser'), String(names));
  });
  await window.close();
});
