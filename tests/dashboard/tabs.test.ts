// Several tabs of one browser: they share one live stream, and one session.
import type { Page, Request } from 'playwright-core';
import type { Window } from './browser';
import { until } from './daemon';
import { test } from './runner';
import { freshWindow, theStage, windowOf } from './stage';

/** The pages that hold a stream at the moment. */
function listeners(window: Window): () => Page[] {
  const open = new Set<Request>();
  window.context.on('request', one => {
    if (new URL(one.url()).pathname === '/api/v1/live') open.add(one);
  });
  window.context.on('requestfinished', one => open.delete(one));
  window.context.on('requestfailed', one => open.delete(one));
  window.context.on('page', page =>
    page.on('close', () => {
      for (const one of open) if (one.frame().page() === page) open.delete(one);
    }),
  );
  return () => [...open].map(one => one.frame().page());
}

async function tab(window: Window, path: string, heading: string): Promise<Page> {
  const page = await window.context.newPage();
  await page.goto(window.origin + path);
  await page.getByRole('heading', { name: heading, exact: true }).waitFor();
  return page;
}

/** As the browser does with a tab that another one is put before. */
async function turn(page: Page, hidden: boolean): Promise<void> {
  await page.evaluate(is => {
    Object.defineProperty(document, 'hidden', { value: is, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
}

let serial = 0;

/** A callback that a page which follows the log must show. */
async function follows(page: Page): Promise<void> {
  const { daemon } = await theStage();
  const id = `tabs-${++serial}`;
  await daemon.good('POST', '/api/v1/events', {
    EventId: id,
    Type: 'survey_completed',
    ClientId: 'farm-ios',
    PanelistId: 'of-tabs',
    RevenueAmount: '0.35',
  });
  await page.getByRole('link', { name: id, exact: true }).waitFor();
}

test('tabs: ten share one stream, which goes on in another when its tab closes', async () => {
  const window = await windowOf('analyst', 'sunny-games');
  const listening = listeners(window);
  const log = '/callbacks?panelistId=of-tabs';
  const first = await tab(window, log, 'Callbacks');
  const second = await tab(window, log, 'Callbacks');
  for (let n = 3; n <= 10; n++) await tab(window, '/docs', 'Docs');
  const one = async (page?: Page) => {
    const pages = listening();
    return pages.length === 1 && (!page || pages[0] === page);
  };
  await until('the first listens, and nobody else', () => one(first));
  await Promise.all([follows(first), follows(second)]);
  await first.close();
  await until('another one listens', () => one());
  await follows(second);
  await window.close();
});

test('tabs: the stream is held by a tab that is seen', async () => {
  const window = await windowOf('analyst', 'sunny-games');
  const listening = listeners(window);
  const log = '/callbacks?panelistId=of-tabs';
  const first = await tab(window, log, 'Callbacks');
  const second = await tab(window, log, 'Callbacks');
  const by = (page: Page) => async () => listening().length === 1 && listening()[0] === page;
  await until('the first listens', by(first));
  await turn(first, true);
  await until('the second listens', by(second));
  await turn(first, false);
  await turn(second, true);
  await until('the first listens again', by(first));
  await follows(first);
  await window.close();
});

test('tabs: without locks each that is seen listens for itself', async () => {
  const window = await windowOf('analyst', 'sunny-games');
  await window.context.addInitScript(() =>
    Object.defineProperty(Navigator.prototype, 'locks', { value: undefined }),
  );
  const listening = listeners(window);
  const log = '/callbacks?panelistId=of-tabs';
  const first = await tab(window, log, 'Callbacks');
  const second = await tab(window, log, 'Callbacks');
  await until('both listen', async () => listening().length === 2);
  await turn(second, true);
  await until('one listens', async () => listening().length === 1 && listening()[0] === first);
  await follows(first);
  await window.close();
});

test('tabs: one session: who signs out in one is out in all, who acts as a partner too', async () => {
  const window = await freshWindow('tabs@operator.example', 'admin');
  const other = await tab(window, '/partners', 'Partners');
  await window.go('/partners/sunny-games');
  await window.button('View as partner').click();
  await window.heading('Overview').waitFor();
  await other.getByText('Viewing as Sunny Games').waitFor();
  await window.button('Exit partner view').click();
  await other.getByRole('heading', { name: 'Partners', exact: true }).waitFor();
  await window.button('Sign out').click();
  await window.heading('Sign in').waitFor();
  await other.getByRole('heading', { name: 'Sign in', exact: true }).waitFor();
  await window.close();
});

test('tabs: the stream ends before its session does', async () => {
  const window = await freshWindow('leo@sunny.example', 'owner', 'sunny-games');
  const listening = listeners(window);
  await window.go('/apps');
  await until('the page listens', async () => listening().length === 1);
  await window.page.route('**/api/v1/session', async route => {
    if (route.request().method() === 'DELETE')
      await until('the page listens no more', async () => listening().length === 0);
    await route.continue();
  });
  await window.button('Sign out').click();
  await window.heading('Sign in').waitFor();
  await window.close();
});
