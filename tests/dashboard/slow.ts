// A machine worse than this one, to find tests that read a page before it is ready:
//   DASHBOARD_CPU=6          the browser has a sixth of its CPU
//   DASHBOARD_DELAY_MS=400   each request to the interface waits up to so long, drawn by lot
//   DASHBOARD_ORDER=7        the tests run in another order, the same for the same number
import type { BrowserContext, Page } from 'playwright-core';

const numberOf = (name: string) => Number(process.env[name] ?? 0);

/** Numbers from 0 to below 1, drawn by lot: the same ones for the same seed. */
export function lots(seed: number): () => number {
  return () => {
    seed = (seed * 1664525 + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
}

/** In the order that was asked for, which is the given one unless DASHBOARD_ORDER says otherwise. */
export function inOrder<T>(all: T[]): T[] {
  const seed = numberOf('DASHBOARD_ORDER');
  if (!seed) return all;
  const lot = lots(seed);
  return all
    .map(one => ({ one, at: lot() }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one);
}

export async function slowDown(context: BrowserContext, page: Page): Promise<void> {
  const rate = numberOf('DASHBOARD_CPU');
  if (rate) {
    const chrome = await context.newCDPSession(page);
    await chrome.send('Emulation.setCPUThrottlingRate', { rate });
  }
  const most = numberOf('DASHBOARD_DELAY_MS');
  if (!most) return;
  await context.route('**/api/v1/**', async route => {
    await new Promise(resolve => setTimeout(resolve, Math.random() * most));
    await route.continue();
  });
}
