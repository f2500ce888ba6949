// Debian's Chromium, and pages that are watched: nothing may be asked of anybody but the daemon,
// and nothing may be complained of in the console.
//
// A page is never ready when a test comes: whatever is read of it (texts, counts, the address, what
// has the focus) is read inside shows(), which reads until it is as it should be; that something
// is not there is said by lacks(), which first waits for the page to be complete; messages that
// pass are taken from said(). Playwright's own acts (click, fill, waitFor) wait by themselves.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import {
  chromium,
  type Browser,
  type BrowserContext,
  type Locator,
  type Page,
} from 'playwright-core';
import { until } from './daemon';
import { slowDown } from './slow';

const waitMs = 90_000;
let browser: Browser | null = null;

export async function startBrowser(): Promise<void> {
  browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    timeout: waitMs,
  });
}

export async function stopBrowser(): Promise<void> {
  await browser?.close();
}

export interface Look {
  width?: number;
  height?: number;
  theme?: 'light' | 'dark';
  timezone?: string;
}

/** What the page tells about itself, to settled() and said(). */
interface Watched {
  asking: number;
  said: string[];
}

/** Runs in the page before its own scripts: counts the requests that are under way, their answers
 * read to the end, and keeps the messages that are shown for seconds only. */
function watch(): void {
  const watched: Watched = { asking: 0, said: [] };
  Object.assign(window, { watched });
  const ask = window.fetch.bind(window);
  window.fetch = async (...what) => {
    watched.asking++;
    try {
      const answer = await ask(...what);
      await answer.clone().arrayBuffer();
      return answer;
    } finally {
      watched.asking--;
    }
  };
  new MutationObserver(records => {
    for (const { addedNodes } of records)
      for (const node of addedNodes)
        if (node instanceof HTMLElement && node.matches('.toast'))
          watched.said.push(node.textContent ?? '');
  }).observe(document, { childList: true, subtree: true });
}

/** In the page: nothing is asked, and nothing that was drawn meanwhile asks or loads anything. */
async function isComplete(): Promise<boolean> {
  const { watched } = window as unknown as { watched: Watched };
  for (let frame = 0; frame < 3; frame++) {
    const idle = watched.asking === 0 && !document.querySelector('.loading');
    if (!idle || !document.querySelector('h1')) return false;
    // What was answered is drawn in one frame, and its effects come after it.
    await new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)));
  }
  return true;
}

export type State = Awaited<ReturnType<BrowserContext['storageState']>>;

/** A window of one person. */
export class Window {
  private readonly complaints: string[] = [];
  private readonly expected: RegExp[] = [];

  private constructor(
    readonly context: BrowserContext,
    readonly page: Page,
    readonly origin: string,
  ) {}

  static async open(origin: string, state?: State, look: Look = {}): Promise<Window> {
    const context = await browser!.newContext({
      viewport: { width: look.width ?? 1280, height: look.height ?? 900 },
      colorScheme: look.theme ?? 'light',
      timezoneId: look.timezone ?? 'Europe/Berlin',
      locale: 'en-GB',
      reducedMotion: 'reduce',
      storageState: state,
      ignoreHTTPSErrors: true, // the tests' certificates are signed by nobody
    });
    context.setDefaultTimeout(waitMs);
    await context.addInitScript(watch);
    const page = await context.newPage();
    await slowDown(context, page);
    const window = new Window(context, page, origin);
    page.on('console', message => {
      if (['error', 'warning'].includes(message.type()))
        window.complaints.push(`${message.text()} ${message.location().url}`);
    });
    page.on('pageerror', error => window.complaints.push(`${error.message}\n${error.stack}`));
    page.on('dialog', dialog => {
      window.complaints.push(`a script opened a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('request', request => {
      const url = request.url();
      if (!url.startsWith(`${origin}/`) && !url.startsWith('blob:') && !url.startsWith('data:'))
        window.complaints.push(`asked elsewhere: ${url}`);
    });
    return window;
  }

  /** What this test brings about on purpose, such as a refused request. */
  expect(...patterns: RegExp[]): this {
    this.expected.push(...patterns);
    return this;
  }

  /** Opens an address, and waits until its page is complete. */
  async go(path: string): Promise<this> {
    await this.page.goto(this.origin + path);
    return this.settled();
  }

  /** Until the page is complete: it has a heading, and nothing is being loaded any more. */
  async settled(): Promise<this> {
    await this.explained(() =>
      until('the page is complete', () => this.page.evaluate(isComplete), waitMs),
    );
    return this;
  }

  /** Tries assertions about the page until they hold; what fails at last is thrown, with what the
   * page says instead. */
  async shows(check: () => Promise<unknown> | unknown): Promise<void> {
    const holds = async () => {
      await check();
      return true;
    };
    await this.explained(() => until('the page shows it', holds, waitMs));
  }

  /** None of these elements is there, nor any of these texts, seen or unseen, now that the page is
   * complete. */
  async lacks(...unwanted: (Locator | string)[]): Promise<void> {
    await this.settled();
    await this.shows(async () => {
      const source = await this.page.content();
      for (const one of unwanted) {
        const found = typeof one === 'string' ? source.includes(one) : (await one.count()) > 0;
        assert.ok(!found, `there is ${one}`);
      }
    });
  }

  /** Unfolds whatever is folded. */
  async unfold(): Promise<void> {
    await this.page.evaluate(() => {
      for (const fold of document.querySelectorAll('details')) fold.open = true;
    });
  }

  /** Waits for a message that something has been done; each is taken once, with those before it. */
  async said(text: string): Promise<void> {
    const take = (wanted: string): boolean => {
      const { said } = (window as unknown as { watched: Watched }).watched;
      const at = said.indexOf(wanted);
      if (at >= 0) said.splice(0, at + 1);
      return at >= 0;
    };
    await this.explained(() =>
      until(`"${text}" is said`, () => this.page.evaluate(take, text), waitMs),
    );
  }

  /** What the page says instead is most of the diagnosis. */
  private async explained(wait: () => Promise<unknown>): Promise<void> {
    try {
      await wait();
    } catch (error) {
      const shown = await this.page.locator('body').innerText();
      throw new Error(`${(error as Error).message}\nThe page (${this.page.url()}) says:\n${shown}`);
    }
  }

  heading(text: string): Locator {
    return this.page.getByRole('heading', { name: text, level: 1, exact: true });
  }

  /** Presses a button of the dialog that is open, and waits until the dialog is closed: until then
   * nobody can type into what is under it. */
  async confirm(name: string): Promise<void> {
    const dialog = this.page.getByRole('dialog');
    await dialog.getByRole('button', { name }).click();
    await this.explained(() => dialog.waitFor({ state: 'detached' }));
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole('button', { name, exact: typeof name === 'string' });
  }

  link(name: string | RegExp): Locator {
    return this.page.getByRole('link', { name, exact: typeof name === 'string' });
  }

  field(label: string): Locator {
    return this.page.getByLabel(label, { exact: true });
  }

  text(what: string | RegExp): Locator {
    return this.page.getByText(what).locator('visible=true').first();
  }

  async see(what: string | RegExp): Promise<void> {
    await this.explained(() => this.text(what).waitFor());
  }

  /** The text of the one element that has it, once there is any. */
  async textOf(element: Locator): Promise<string> {
    return until(`${element} has a text`, async () => (await element.textContent())?.trim());
  }

  /** The rows of a table as the texts of their cells, once it has one. */
  async rows(label: string): Promise<string[][]> {
    const rows = this.page.getByRole('table', { name: label }).locator('tbody tr');
    await rows.first().waitFor();
    return rows.evaluateAll(all =>
      all.map(row =>
        [...row.querySelectorAll('td')].map(cell => (cell as HTMLElement).innerText.trim()),
      ),
    );
  }

  /** Nothing reaches beyond the window's width. */
  async fits(): Promise<void> {
    const sideways = () => document.documentElement.scrollWidth - window.innerWidth;
    await this.shows(async () => assert.ok((await this.page.evaluate(sideways)) <= 0, 'scrolls'));
  }

  /** What axe finds against WCAG 2.2 AA, one line each; or against the rules named. */
  async accessibilityFaults(rules?: string[]): Promise<string[]> {
    await this.page.evaluate(await axeSource());
    return this.page.evaluate(async only => {
      const { axe } = window as unknown as { axe: { run: (c: unknown, o: unknown) => any } };
      const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
      const runOnly = only ? { type: 'rule', values: only } : { type: 'tag', values: tags };
      const { violations } = await axe.run(document, { runOnly, resultTypes: ['violations'] });
      return violations.flatMap((v: any) =>
        v.nodes.map((node: any) => `${v.id}: ${node.target.join(' ')}: ${node.failureSummary}`),
      );
    }, rules);
  }

  /** Makes the window as high as its page, up to a bound. */
  async grow(most: number): Promise<void> {
    const { width, height } = this.page.viewportSize()!;
    const needed = await this.page.evaluate(() => document.documentElement.scrollHeight);
    await this.page.setViewportSize({ width, height: Math.max(height, Math.min(needed, most)) });
  }

  /** What is seen now, as WebP: a fifth of the size of PNG. */
  async picture(file: string): Promise<void> {
    const chrome = await this.context.newCDPSession(this.page);
    const shot = { format: 'webp', quality: 75 } as const;
    const { data } = await chrome.send('Page.captureScreenshot', shot);
    await writeFile(file, Buffer.from(data, 'base64'));
  }

  async close(): Promise<void> {
    const state = this.complaints.filter(
      what => !this.expected.some(pattern => pattern.test(what)),
    );
    // a question that a test answers itself may be under way
    await this.page.unrouteAll({ behavior: 'ignoreErrors' });
    await this.context.unrouteAll({ behavior: 'ignoreErrors' });
    await this.context.close();
    assert.deepEqual(state, [], 'the console is silent and nobody else was asked');
  }
}

let axe: string | null = null;

async function axeSource(): Promise<string> {
  axe ??= await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  return axe;
}
