// Debian's Chromium, and pages that are watched: nothing may be asked of anybody but the daemon,
// and nothing may be complained of in the console.
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

let browser: Browser | null = null;

export async function startBrowser(): Promise<void> {
  browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
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
    });
    context.setDefaultTimeout(45_000);
    const page = await context.newPage();
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

  async go(path: string): Promise<this> {
    await this.page.goto(this.origin + path);
    await this.page.locator('h1').first().waitFor();
    return this;
  }

  /** Until nothing is being loaded any more. */
  async settled(): Promise<this> {
    await this.page.locator('h1').first().waitFor();
    await this.page.locator('.loading').first().waitFor({ state: 'detached' });
    return this;
  }

  heading(text: string): Locator {
    return this.page.getByRole('heading', { name: text, level: 1, exact: true });
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
    try {
      await this.text(what).waitFor();
    } catch (error) {
      // What it says instead is most of the diagnosis.
      const shown = await this.page.locator('body').innerText();
      throw new Error(`${(error as Error).message}\nThe page says:\n${shown}`);
    }
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

  async sidewaysPixels(): Promise<number> {
    return this.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
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
    await this.context.close();
    assert.deepEqual(state, [], 'the console is silent and nobody else was asked');
  }
}

let axe: string | null = null;

async function axeSource(): Promise<string> {
  axe ??= await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  return axe;
}
