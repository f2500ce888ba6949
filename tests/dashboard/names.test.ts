// Names that are long: they stay in their place.
import assert from 'node:assert/strict';
import { test } from './runner';
import { freshWindow, theStage } from './stage';

test('names: whoever signs in can sign out, whatever their name', async () => {
  const { daemon } = await theStage();
  const email = `${'long'.repeat(12)}@${'company'.repeat(6)}.example`;
  const owner = await freshWindow(email, 'owner', 'north-studio');
  const { Items } = await daemon.good('GET', '/api/v1/users?partnerId=north-studio');
  const { UserId } = Items.find((user: { Email: string }) => user.Email === email);
  for (const Name of ['Maximiliane Wolkenstein-Trostburg', email, 'W'.repeat(60)]) {
    await daemon.good('PATCH', `/api/v1/users/${UserId}`, { Name });
    await owner.go('/');
    const name = owner.page.locator('.side-foot .who');
    await owner.shows(async () => assert.equal(await name.textContent(), Name));
    assert.equal(await name.getAttribute('title'), `${Name} ${email}`);
    const side = (await owner.page.locator('.side').boundingBox())!;
    const button = (await owner.button('Sign out').boundingBox())!;
    assert.ok(button.x + button.width <= side.x + side.width, 'inside of the side bar');
  }
  await owner.button('Sign out').click();
  await owner.field('Password').waitFor();
  await owner.close();
});

test('names: the audit log fits a phone, and says whose password was set', async () => {
  const { daemon } = await theStage();
  const AppId = 'a'.repeat(64);
  const app = { AppId, CurrencyValue: 1 };
  await daemon.good('POST', '/api/v1/partners/north-studio/apps', app);
  const owner = await freshWindow('set@north-studio.example', 'owner', 'north-studio');
  await owner.page.setViewportSize({ width: 390, height: 844 });
  await owner.go(`/audit?object=${AppId}`);
  await owner.see(AppId);
  await owner.fits();
  await owner.go('/audit?action=user.password_set');
  await owner.see('Set the password of their own account');
  await owner.close();
});
