// Accounts that are far from the usual one: 121 apps and 8 clients with a single day of data, one
// app with a single day, and nothing at all. No page says what is not so, and none looks broken.
import assert from 'node:assert/strict';
import type { Window } from './browser';
import { until, type Daemon } from './daemon';
import { test } from './runner';
import { theStage, windowOf } from './stage';

interface Account {
  id: string;
  apps: number;
  clients: number;
}

const accounts: Account[] = [
  { id: 'much-studio', apps: 121, clients: 8 },
  { id: 'day-studio', apps: 1, clients: 1 },
  { id: 'none-studio', apps: 0, clients: 0 },
];

/** Of a client: some surveys and an offer, of an hour ago at most and of today. */
function dayOf(client: string): object[] {
  const common = { ClientId: client, PanelistId: `player-${client}` };
  const survey = { ...common, Type: 'survey_completed', RevenueAmount: '0.7512' };
  return [
    { ...common, EventId: `${client}-s`, Type: 'survey_started' },
    { ...survey, EventId: `${client}-1` },
    { ...survey, EventId: `${client}-2`, PanelistId: `other-${client}` },
    { ...common, EventId: `${client}-d`, Type: 'survey_disqualified' },
  ];
}

async function make(daemon: Daemon, url: string, { id, apps, clients }: Account): Promise<void> {
  await daemon.good('POST', '/api/v1/partners', { PartnerId: id, Name: id });
  for (let n = 0; n < apps; n++) {
    const AppId = `${id}-${n}`;
    const terms = { AppId, Name: `App ${n}`, CurrencyValue: 100 };
    const SuccessCallbackUrl = `${url}/${AppId}`;
    await daemon.good('POST', `/api/v1/partners/${id}/apps`, { ...terms, SuccessCallbackUrl });
    if (n >= clients) continue;
    const client = { ClientId: `${AppId}-c`, Integration: 'sdk' };
    await daemon.good('POST', `/api/v1/apps/${AppId}/clients`, client);
    await daemon.good('POST', '/api/v1/events', dayOf(client.ClientId));
  }
  await until(`${id} has its callbacks`, async () => {
    const path = `/api/v1/callbacks?partnerId=${id}&state=delivered&limit=500`;
    return (await daemon.good('GET', path)).Items.length === 2 * clients;
  });
}

const reports = ['earnings', 'arpdau', 'survey-attempts', 'conversions', 'active-panelist'];
const pages = ['/', '/reports', '/callbacks', '/apps', '/console', '/console?do=verify', '/keys'];
pages.push('/docs', '/docs/verify', '/docs/callbacks', '/people', '/audit', '/account');
for (const report of reports) pages.push(`/reports?report=${report}`);

/** What no page says of any account. */
const wrong = [
  /\ball (?:\d+ are|1)\b/i,
  /\b1 (?:endpoints|apps|callbacks|clients|days|weeks|rows|rewards|panelists)\b/,
  /\b0 (?:endpoints|apps|clients), healthy/,
  /NaN|undefined|Infinity|Invalid Date|\[object|\bnull\b/,
  /−0\b|-0\.00|\$-/,
];

/** Of each chart: how much of it is drawn, in marks with an extent; and whether it has lines of text. */
async function emptyCharts(window: Window): Promise<string[]> {
  return window.page.locator('.chart').evaluateAll(charts =>
    charts
      .filter(chart => {
        const marks = [...chart.querySelectorAll<SVGGraphicsElement>('.bar, .line, .point')];
        return !marks.some(mark => mark.getBoundingClientRect().height > 0);
      })
      .map(chart => chart.closest('section')?.getAttribute('aria-label') ?? 'a chart'),
  );
}

for (const account of accounts) {
  test(`stores: ${account.id} (${account.apps} apps, ${account.clients} clients)`, async () => {
    const { daemon, receiver } = await theStage();
    await make(daemon, receiver.url, account);
    const window = await windowOf('owner', account.id);
    const own = account.apps ? ['', '/postback', '/callback', '/clients'] : [];
    for (const page of [...pages, ...own.map(tab => `/apps/${account.id}-0${tab}`)]) {
      await window.go(page);
      await window.shows(async () => {
        const said = await window.page.locator('#main').innerText();
        // The docs and the audit log name null as a value.
        const faults = wrong.filter(one => !/^\/(docs|audit)/.test(page) && one.test(said));
        assert.deepEqual(faults, [], page);
        assert.deepEqual(await emptyCharts(window), [], page);
      });
    }
    await window.go('/');
    if (account.apps)
      await window.see(account.apps === 1 ? '1 endpoint, healthy' : `${account.apps} endpoints, h`);
    else await window.lacks('ealthy', window.page.locator('.chart, table'));
    await window.close();
  });
}
