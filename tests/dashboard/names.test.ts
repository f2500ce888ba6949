// Names that are long, or written from right to left: they stay in their place.
import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import type { Window } from './browser';
import { test } from './runner';
import { freshWindow, theStage } from './stage';

/** Closes whatever isolates it, and turns what follows. */
const turning = '\u2069\u202ednuor';

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

/** The left edges of the first and the last letter of each word. */
function edges(all: Element, words: string[]): number[] {
  const walk = document.createTreeWalker(all, NodeFilter.SHOW_TEXT);
  const found: number[] = [];
  for (const word of words) {
    walk.currentNode = all;
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      const at = node.textContent!.indexOf(word);
      if (at < 0) continue;
      const range = document.createRange();
      for (const letter of [at, at + word.length - 1]) {
        range.setStart(node, letter);
        range.setEnd(node, letter + 1);
        found.push(range.getBoundingClientRect().left);
      }
      break;
    }
  }
  return found;
}

/** Words are drawn from left to right, one behind the other, as they were written. */
async function inOrder(window: Window, element: Locator, ...words: string[]): Promise<void> {
  await window.shows(async () => {
    const places = await element.evaluate(edges, words);
    assert.equal(places.length, 2 * words.length, `${words.join(' and ')} are there`);
    const sorted = [...places].sort((a, b) => a - b);
    assert.deepEqual(places, sorted, words.join(' … '));
  });
}

test('names: a name that turns text turns only itself', async () => {
  const { daemon, broken } = await theStage();
  const name = `Turn${turning}`;
  await daemon.good('POST', '/api/v1/partners', { PartnerId: 'turned', Name: name });
  await daemon.good('POST', '/api/v1/partners/turned/apps', {
    AppId: 'turned-app',
    Name: name,
    CurrencyValue: 1,
    SuccessCallbackUrl: `${broken.url}/turned`,
  });
  await daemon.good('POST', '/api/v1/apps/turned-app/clients', { ClientId: 'turned-sdk' });
  await daemon.good('POST', '/api/v1/events', {
    EventId: 'turned-1',
    Type: 'survey_completed',
    ClientId: 'turned-sdk',
    PanelistId: name,
    RevenueAmount: 1,
  });
  await daemon.good('POST', '/api/v1/partners/turned/keys', {
    Name: name,
    Scopes: ['reports:read'],
  });
  const owner = await freshWindow('owner@turned.example', 'owner', 'turned');
  await owner.go('/');
  const endpoint = owner.page.getByRole('row').filter({ hasText: 'Success' }).locator('a');
  await endpoint.waitFor();
  await inOrder(owner, endpoint, 'Turn', 'Success');
  await owner.go('/callbacks');
  const type = owner.page.locator('td[data-label="App and type"]').first();
  await type.waitFor();
  await inOrder(owner, type, 'Turn', 'Survey completed');
  await owner.go('/keys');
  await owner.page.locator('td code', { hasText: /^reports:read$/ }).waitFor();
  await owner.button(/^Revoke/).click();
  await inOrder(owner, owner.page.getByRole('heading', { name: /^Revoke/ }), 'Turn', '?');
  await owner.close();
  // A session of their own: others' tests do not look as a partner.
  const admin = await freshWindow('turn@operator.example', 'admin');
  await admin.go('/partners/turned');
  await admin.button('View as partner').click();
  const banner = admin.page.locator('.banner');
  await banner.waitFor();
  await inOrder(admin, banner, 'Turn', 'Read-only');
  await admin.close();
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
