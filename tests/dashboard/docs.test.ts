// The partners' pages in the dashboard: they are those of docs/partners, their links lead
// somewhere, a search finds their sections, and the account's own values stand in them.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { blocksOf, idOf, inline, plain } from '../../dashboard/markdown.mjs';
import type { Window } from './browser';
import { test } from './runner';
import { theStage, windowOf } from './stage';

const folder = resolve('../docs/partners');

/** Where links of these pages lead, as they stand there. */
async function linksOf(window: Window): Promise<string[]> {
  const links = window.page.locator('#main a[href^="/docs"], #main a[href^="#"]');
  return links.evaluateAll(all => all.map(one => (one as HTMLAnchorElement).href));
}

test('docs: each page of docs/partners is there, and every link leads to a part of one', async () => {
  const window = await windowOf('analyst', 'sunny-games');
  await window.go('/docs');
  const seen = new Map<string, Set<string>>();
  const wanted = await linksOf(window);
  for (let next = wanted.shift(); next; next = wanted.shift()) {
    const { pathname, search, hash } = new URL(next);
    if (!seen.has(pathname)) {
      await window.go(pathname + search);
      await window.lacks('Page not found');
      const ids = await window.page.locator('[id]').evaluateAll(all => all.map(one => one.id));
      seen.set(pathname, new Set(ids));
      wanted.push(...(await linksOf(window)));
    }
    assert.ok(!hash || seen.get(pathname)!.has(hash.slice(1)), `${next} leads nowhere`);
  }
  for (const file of await readdir(folder)) {
    if (!file.endsWith('.md')) continue;
    const title = /^# (.+)$/m.exec(await readFile(`${folder}/${file}`, 'utf8'))![1]!;
    const slug = file === 'README.md' ? 'callbacks' : file.replace('.md', '');
    assert.ok(seen.has(`/docs/${slug}`), `no link leads to ${file}`);
    await window.go(`/docs/${slug}`);
    await window.heading(title).waitFor();
  }
  await window.close();
});

test('docs: a search finds a section, which is then on the screen', async () => {
  const window = await windowOf('analyst', 'sunny-games');
  await window.go('/docs');
  await window.field('Search the docs').fill('retry-AFTER endpoint suspended');
  await window.link('Health of your endpoints').first().waitFor();
  await window.field('Search the docs').fill('digest sorted');
  await window.link(/: The digest$/).click();
  await window.heading('Statements: check your own records').waitFor();
  const digest = window.page.getByRole('heading', { name: 'The digest' });
  await window.shows(async () => {
    const { y } = (await digest.boundingBox())!;
    assert.ok(y >= 0 && y < 500, `it is at ${y}`);
  });
  await window.field('Search the docs').fill('no-such-word');
  await window.see('Nothing found');
  await window.close();
});

test('docs: the account’s own values stand in the examples, and no secret does', async () => {
  const { daemon } = await theStage();
  const key = { Name: 'Nightly books', Scopes: ['reports:read'] };
  const made = await daemon.good('POST', '/api/v1/partners/sunny-games/keys', key);
  const secrets = [made.Key];
  for (const app of ['farm-friends', 'word-garden', 'quiz-night'])
    secrets.push((await daemon.good('GET', `/api/v1/apps/${app}/secret`)).CallbackSecret);
  const window = await windowOf('developer', 'sunny-games');
  await window.go('/docs/statements');
  await window.see(`"${daemon.url}/api/v1/statements?day=2026-11-20"`);
  await window.see(/Nightly books/);
  await window.go('/docs/callbacks');
  await window.field('App of the examples').selectOption('word-garden');
  await window.see('/api/v1/apps/word-garden/secret');
  await window.see(/\/word-garden\/offers$/);
  await window.see('Not set');
  await window.lacks('{AppId}', '$URL', ...secrets);
  await window.link('Callback Secret').click();
  await window.shows(() =>
    assert.equal(new URL(window.page.url()).pathname, '/apps/word-garden/postback'),
  );
  await window.close();
});

test('docs: nothing of them is fetched before somebody opens them', async () => {
  const window = await windowOf('analyst', 'sunny-games');
  const scripts: string[] = [];
  window.page.on('request', asked => {
    if (/\/assets\/docs-[^/]*\.js$/.test(asked.url())) scripts.push(asked.url());
  });
  await window.go('/');
  assert.equal(scripts.length, 0);
  await window.link('Docs').click();
  await window.heading('Docs').waitFor();
  await window.settled();
  assert.equal(scripts.length, 1);
  await window.close();
});

test('docs: a page that the server no longer has asks to be loaded again', async () => {
  const window = await windowOf('analyst', 'sunny-games');
  window.expect(/Failed to (load|fetch)/);
  await window.page.route('**/assets/docs-*.js', route => route.fulfill({ status: 404 }));
  await window.page.goto(`${window.origin}/docs`);
  await window.see('This page could not be loaded');
  await window.page.unroute('**/assets/docs-*.js');
  await window.button('Reload').click();
  await window.heading('Docs').waitFor();
  await window.close();
});

test('docs: Markdown that is not known is refused, and markup in it is text', () => {
  const read = (text: string) =>
    blocksOf(text, (address: string, title: string) => ({ address, title }));
  for (const text of [
    '<b>bold</b>',
    '> quoted',
    '  - nested',
    '| a | b |\n|---|---|\n| 1 |',
    '```\nx',
  ])
    assert.throws(() => read(text), /line \d/, text);
  assert.deepEqual(read('## A `b` c\n\nx **y `z`** <i>[t](u.md#v)'), [
    ['h', 2, 'A `b` c'],
    ['p', 'x **y `z`** <i>[t](u.md#v)'],
  ]);
  assert.equal(idOf('A `b`, [c](u.md#v)'), 'a-b-c');
  const words = 'x **y `z`** <i>[t](u.md#v)';
  assert.deepEqual(inline(words), [
    'x ',
    ['b', ['y ', ['code', 'z']]],
    ' <i>',
    ['a', 'u.md#v', ['t']],
  ]);
  assert.equal(plain(words), 'x y z <i>t');
  assert.deepEqual(read('| a | |\n|---|---|\n| `x|y` | |\n- 1\n- 2'), [
    ['table', ['a', ''], [['`x|y`', '']]],
    ['ul', ['1', '2']],
  ]);
});
