// The search field of every page: what it finds, where that leads, and that nothing was found.
import assert from 'node:assert/strict';
import type { Window } from './browser';
import { test } from './runner';
import { theStage, windowOf, type Stage } from './stage';

let made = false;

async function makeApp({ daemon, receiver }: Stage): Promise<void> {
  if (made) return;
  made = true;
  await daemon.good('POST', '/api/v1/partners/sunny-games/apps', {
    AppId: 'search-app',
    Name: 'Search App',
    CurrencyValue: 100,
    SuccessCallbackUrl: `${receiver.url.replace('//', '//me:secret@')}/searched/success`,
    OfferCallbackUrl: `${receiver.url}/searched/offers`,
  });
  const client = { ClientId: 'search-sdk', Integration: 'sdk' };
  await daemon.good('POST', '/api/v1/apps/search-app/clients', client);
  const of = (EventId: string, PanelistId: string) => ({
    EventId,
    Type: 'survey_completed',
    ClientId: 'search-sdk',
    PanelistId,
    RevenueAmount: '0.35',
  });
  // What is one's EventId is the other's PanelistId.
  const events = [
    of('search-1', 'searched & <b>'),
    of('search-2', 'search-3'),
    of('search-3', 'x'),
  ];
  await daemon.good('POST', '/api/v1/events', events);
}

const field = (window: Window) => window.page.getByRole('searchbox', { name: 'Search callbacks' });

/** Whether a dialog is open as soon as the document has it: keys go to it, none to the page below. */
const dialogWasOpenAtOnce = (window: Window) =>
  window.page.evaluate(
    () =>
      new Promise<boolean>(done => {
        const seen = new MutationObserver(() => {
          const dialog = document.querySelector('dialog');
          if (dialog) done(dialog.open);
        });
        seen.observe(document.body, { childList: true, subtree: true });
        const buttons = [...document.querySelectorAll('button')];
        buttons.find(one => one.textContent.trim() === 'New app')?.click();
      }),
  );

/** By the keyboard alone. */
async function search(window: Window, text: string): Promise<void> {
  await window.shows(async () => {
    await window.page.locator('h1').first().focus();
    await window.page.keyboard.press('/'); // once more where a new page has taken the focus
    assert.ok(await field(window).evaluate(one => one === document.activeElement));
  });
  await field(window).fill(text);
  await window.page.keyboard.press('Enter');
}

test('search: a partner finds an event, a panelist and a URL from any page', async () => {
  const stage = await theStage();
  await makeApp(stage);
  const window = await windowOf('analyst', 'sunny-games');
  await window.go('/account');
  await search(window, ' search-1 ');
  await window.heading('search-1').waitFor();
  await search(window, 'searched & <b>');
  await window.heading('Callbacks').waitFor();
  await window.shows(async () =>
    assert.deepEqual(await window.page.locator('tbody a.mono').allTextContents(), ['search-1']),
  );
  await search(window, `${stage.receiver.url}/SEARCHED/success?user=4`);
  await window.heading('Search App').waitFor();
  await window.shows(() => assert.match(window.page.url(), /search-app\/postback$/));
  await search(window, '/searched/');
  await window.link(/searched\/offers/).click();
  await window.shows(() => assert.match(window.page.url(), /search-app\/callback$/));
  await search(window, 'search-3');
  const found = window.page.getByRole('list', { name: 'Found' });
  await window.shows(async () => assert.equal(await found.getByRole('link').count(), 2));
  await window.page.keyboard.press('Escape');
  await window.lacks(found);
  await window.close();
});

test('search: what is not there is said, and nobody finds another account', async () => {
  const stage = await theStage();
  await makeApp(stage);
  const window = await windowOf('owner', 'north-studio');
  await window.go('/');
  for (const text of ['search-1', 'searched & <b>', '/searched/', '"><script>', 'a'.repeat(3000)]) {
    await search(window, text);
    await window.see(`Nothing found for “${text}”`);
    await window.fits();
  }
  await window.link('Apps').click();
  await window.lacks('Nothing found');
  await field(window).fill('a/b');
  await window.page.locator('h1').first().focus();
  await window.button('New app').waitFor();
  assert.ok(await dialogWasOpenAtOnce(window));
  await window.field('Name').pressSequentially('x/y');
  await window.shows(async () => assert.equal(await window.field('Name').inputValue(), 'x/y'));
  await window.close();
});

test('search: an operator finds it over all partners, and goes on as the partner', async () => {
  const stage = await theStage();
  await makeApp(stage);
  const window = await windowOf('support', undefined);
  await window.go('/partners');
  await search(window, '/searched/offers');
  await window.heading('Search App').waitFor();
  await window.shows(() =>
    assert.match(window.page.url(), /partners\/sunny-games\/apps\/search-app/),
  );
  await search(window, 'search-app');
  await window.shows(() => assert.match(window.page.url(), /apps\/search-app$/));
  await search(window, 'sunny-games');
  await window.heading('Sunny Games').waitFor();
  await search(window, 'nobody-has-it');
  await window.see('Nothing found for “nobody-has-it”');
  await search(window, 'search-1');
  await window.button('search-1: view as Sunny Games').click();
  await window.heading('search-1').waitFor();
  await window.see('Viewing as Sunny Games');
  await search(window, 'search-2');
  await window.heading('search-2').waitFor();
  await window.button('Exit partner view').click();
  await window.heading('Sunny Games').waitFor();
  await window.close();
});
