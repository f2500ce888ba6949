// Every page, in both themes and on a phone: nothing that axe finds, nothing that scrolls sideways.
import assert from 'node:assert/strict';
import { Window } from './browser';
import { everyPage } from './pages';
import { test } from './runner';
import { theStage, windowOf } from './stage';

let made = false;

/** A callback whose page shows attempts. */
async function makePicture(): Promise<void> {
  if (made) return;
  made = true;
  const { daemon } = await theStage();
  await daemon.good('POST', '/api/v1/events', {
    EventId: 'picture-1',
    Type: 'survey_completed',
    ClientId: 'quiz-iframe',
    PanelistId: 'player-1200',
    RevenueAmount: '0.85',
  });
}

for (const shown of everyPage) {
  test(`every page: ${shown.name}`, async () => {
    await makePicture();
    const window = await windowOf(shown.role, shown.partner);
    await window.go(shown.path);
    assert.deepEqual(await window.accessibilityFaults(), []);
    // The themes differ in nothing but colours.
    await window.page.emulateMedia({ colorScheme: 'dark' });
    assert.deepEqual(await window.accessibilityFaults(['color-contrast']), [], 'dark');
    await window.page.emulateMedia({ colorScheme: 'light' });
    await window.page.setViewportSize({ width: 360, height: 740 });
    await window.go(shown.path);
    await window.fits();
    await window.close();
  });
}

test('every page: before signing in', async () => {
  const { daemon } = await theStage();
  for (const theme of ['light', 'dark'] as const) {
    const window = await Window.open(daemon.url, undefined, { theme, width: 360 });
    window.expect(/status of 404/);
    for (const path of ['/', '/link#nothing']) {
      await window.go(path);
      assert.deepEqual(await window.accessibilityFaults(), [], path);
      await window.fits();
    }
    await window.close();
  }
});

test('every page: the keyboard reaches what the mouse reaches', async () => {
  const window = await windowOf('owner', 'sunny-games');
  await window.go('/apps');
  await window.page.keyboard.press('Tab');
  await window.page.keyboard.press('Enter');
  await window.shows(() => assert.equal(new URL(window.page.url()).hash, '#main'));
  await window.button('New app').focus();
  await window.page.keyboard.press('Enter');
  await window.page.getByRole('dialog').waitFor();
  await window.page.keyboard.press('Escape');
  await window.page.getByRole('dialog').waitFor({ state: 'detached' });
  const focused = () => window.page.evaluate(() => document.activeElement?.textContent);
  await window.shows(async () => assert.equal(await focused(), 'New app'));
  await window.close();
});

test('every page: the search is above the left edge of the page', async () => {
  for (const width of [1280, 1700]) {
    const window = await windowOf('owner', 'sunny-games', { width });
    await window.go('/');
    const [search, page] = ['.search .input', '.page'].map(name => window.page.locator(name));
    assert.equal((await search!.boundingBox())!.x, (await page!.boundingBox())!.x);
    await window.close();
  }
});

test('every page: the phone’s menu opens and closes', async () => {
  const window = await windowOf('owner', 'sunny-games', { width: 360, height: 740 });
  await window.go('/');
  await window.button('Open the menu').click();
  await window.link('Callbacks').first().click();
  await window.heading('Callbacks').waitFor();
  await window.button('Open the menu').waitFor();
  await window.button('Sign out').waitFor({ state: 'hidden' });
  await window.close();
});
