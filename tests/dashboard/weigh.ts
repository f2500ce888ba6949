// What the dashboard weighs: its files, the first useful paint of its pages on a slow machine, and
// the way from signing in to the cause of a callback that did not come. node weigh.mjs
//
// A slow machine: a quarter of a core, 1.6 Mbit/s and 40 ms until an answer begins, as Chromium's own
// throttling has them, with nothing cached. Useful is the overview when it shows what was earned
// today, and any other page when it has its heading and loads nothing any more.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Window } from './browser';
import { until } from './daemon';
import { everyPage, type Shown } from './pages';
import { clearStage, freshWindow, password, theStage, windowOf } from './stage';

const rounds = Number(process.env['WEIGH_ROUNDS'] ?? 5);
const bytesPerSecond = 1_600_000 / 8;
const latencyMs = 40;
const goals = { bytes: 130_000, overviewMs: 1000 };
const built = process.env['DASHBOARD_BUILT'] ?? '../build/src/web/dashboard';

async function weighFiles(): Promise<void> {
  const sizes: { name: string; bytes: number }[] = [];
  for (const name of await readdir(built, { recursive: true }))
    if (name.endsWith('.gz')) sizes.push({ name, bytes: (await stat(join(built, name))).size });
  sizes.sort((a, b) => b.bytes - a.bytes);
  for (const { name, bytes } of sizes) console.log(`${String(bytes).padStart(9)}  ${name}`);
  const all = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  console.log(`${String(all).padStart(9)}  all files, gzipped (goal: at most ${goals.bytes})\n`);
}

/** Runs in the page before its own scripts: when it was first useful, painted. */
function watchForUse(isOverview: boolean): void {
  const look = () => {
    const earned = document.querySelector('#main .metric .value')?.textContent?.includes('$');
    const isWhole = document.querySelector('#main h1') && !document.querySelector('.loading');
    const isUseful = isOverview ? earned : isWhole;
    if (!isUseful) return;
    observer.disconnect();
    requestAnimationFrame(() =>
      setTimeout(() => Object.assign(window, { usefulAtMs: performance.now() })),
    );
  };
  const observer = new MutationObserver(look);
  observer.observe(document, { childList: true, subtree: true });
}

async function slow(window: Window): Promise<void> {
  const chrome = await window.context.newCDPSession(window.page);
  await chrome.send('Network.enable');
  await chrome.send('Emulation.setCPUThrottlingRate', { rate: 4 });
  const speed = { downloadThroughput: bytesPerSecond, uploadThroughput: bytesPerSecond };
  await chrome.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: latencyMs,
    ...speed,
  });
}

interface Paint {
  firstMs: number;
  usefulMs: number;
  bytes: number;
}

async function paintOf(shown: Shown): Promise<Paint> {
  const window = await windowOf(shown.role, shown.partner);
  await window.context.addInitScript(watchForUse, shown.name === 'overview');
  await slow(window);
  await window.page.goto(window.origin + shown.path);
  const usefulMs = await until(`${shown.name} is useful`, () =>
    window.page.evaluate(() => (globalThis as unknown as { usefulAtMs?: number }).usefulAtMs),
  );
  const { firstMs, bytes } = await window.page.evaluate(() => ({
    firstMs: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
    bytes: (performance.getEntriesByType('resource') as PerformanceResourceTiming[]).reduce(
      (sum, one) => sum + one.encodedBodySize,
      0,
    ),
  }));
  await window.close();
  return { firstMs, usefulMs, bytes };
}

const byMedian = (all: Paint[]) => [...all].sort((a, b) => a.usefulMs - b.usefulMs);

async function weighPages(words: string[]): Promise<void> {
  console.log('page                 first paint   useful (least to most)      bytes');
  for (const shown of everyPage) {
    if (words.length && !words.some(word => shown.name.includes(word))) continue;
    const paints: Paint[] = [];
    for (let n = 0; n < rounds; n++) paints.push(await paintOf(shown));
    const all = byMedian(paints);
    const { firstMs, usefulMs, bytes } = all[Math.floor(rounds / 2)]!;
    const range = `(${all[0]!.usefulMs.toFixed(0)} to ${all.at(-1)!.usefulMs.toFixed(0)})`;
    const cells = [
      `${firstMs.toFixed(0)} ms`.padStart(11),
      `${usefulMs.toFixed(0)} ms`.padStart(8),
    ];
    const goal = shown.name === 'overview' ? `  (goal: under ${goals.overviewMs} ms)` : '';
    console.log(
      shown.name.padEnd(20),
      ...cells,
      range.padEnd(16),
      String(bytes).padStart(9) + goal,
    );
  }
}

/** From the press on "Sign in" until the cause is seen: so many clicks, so long. */
async function wayToCause(name: string, clicks: string[], cause: RegExp): Promise<void> {
  const { daemon } = await theStage();
  const window = await Window.open(daemon.url);
  await window.go('/');
  await slow(window);
  await window.field('E-mail').fill('cause@sunny.example');
  await window.field('Password').fill(password);
  const from = Date.now();
  await window.button('Sign in').click();
  for (const link of clicks) await window.link(link).first().click();
  await window.see(cause);
  const top = (await window.text(cause).boundingBox())!.y;
  const where = top < window.page.viewportSize()!.height ? 'in the first screen' : 'further down';
  console.log(`${name}: ${clicks.length} click(s), ${Date.now() - from} ms, ${where}`);
  await window.close();
}

const words = process.argv.slice(2);
await weighFiles();
const { daemon } = await theStage();
const broken = { ClientId: 'quiz-iframe', Type: 'survey_completed', RevenueAmount: '1.00' };
await daemon.good(
  'POST',
  '/api/v1/events',
  ['picture-1', ...Array.from({ length: 11 }, (_, n) => `weighed-${n}`)].map(EventId => ({
    EventId,
    PanelistId: `p-${EventId}`,
    ...broken,
  })),
);
await until('its endpoint is down', async () => {
  const { NotHealthy } = await daemon.good('GET', '/api/v1/endpoints?partnerId=sunny-games');
  return NotHealthy.some((one: any) => one.Endpoint.LastError);
});
await (await freshWindow('cause@sunny.example', 'developer', 'sunny-games')).close();
await weighPages(words);
console.log('\nFrom signing in to why a callback did not come:');
await wayToCause('on the overview', [], /answered 500/i);
await wayToCause('in the log', ['Callbacks'], /answered 500/i);
await clearStage();
