// The health of endpoints on the pages that show it: all of them are read, and nothing is called
// healthy that was not.
import assert from 'node:assert/strict';
import { Window } from './browser';
import { until, type Daemon } from './daemon';
import { test } from './runner';
import { freshWindow, password, theStage, windowOf } from './stage';

const appCount = 121;
/** The 21st of the list, which begins with the newest. */
const downApp = `many-${appCount - 21}`;
let made: Promise<void> | null = null;

async function makeAccounts(daemon: Daemon, good: string, down: string): Promise<void> {
  const partner = (id: string, Name: string) =>
    daemon.good('POST', '/api/v1/partners', { PartnerId: id, Name });
  await partner('bare-studio', 'Bare Studio');
  await partner('many-apps', 'Many Apps');
  for (let n = 0; n < appCount; n++) {
    const AppId = `many-${n}`;
    await daemon.good('POST', '/api/v1/partners/many-apps/apps', {
      AppId,
      Name: `Product ${n}`,
      CurrencyValue: 100,
      SuccessCallbackUrl: `${AppId === downApp ? down : good}/${AppId}`,
    });
  }
  const client = { ClientId: 'many-client', Integration: 'sdk' };
  await daemon.good('POST', `/api/v1/apps/${downApp}/clients`, client);
  const events = Array.from({ length: 12 }, (_, n) => ({
    EventId: `many-${n}`,
    Type: 'survey_completed',
    ClientId: 'many-client',
    PanelistId: 'somebody',
    RevenueAmount: '1.00',
  }));
  await daemon.good('POST', '/api/v1/events', events);
  await until('its endpoint is down', async () => {
    const { Endpoints } = await daemon.good('GET', `/api/v1/apps/${downApp}/endpoints`);
    return Endpoints[0].State === 'suspended';
  });
}

async function accounts(): Promise<void> {
  const { daemon, receiver, broken } = await theStage();
  made ??= makeAccounts(daemon, receiver.url, broken.url);
  await made;
}

test('health: of 121 apps the overview shows the 21st, which is down', async () => {
  await accounts();
  const window = await windowOf('owner', 'many-apps');
  await window.go('/');
  await window.see(`${appCount - 1} endpoints, healthy`);
  await window.shows(async () => {
    const rows = await window.rows('Endpoints');
    assert.equal(rows.length, 1);
    assert.match(rows[0]![0]!, new RegExp(`^Product ${appCount - 21} · Success`));
    assert.match(rows[0]![1]!, /^Down\s+since /);
    assert.match(rows[0]!.at(-1)!, /500/);
  });
  await window.close();
});

test('health: from signing in the cause is in the first screen, without a click', async () => {
  await accounts();
  const { daemon } = await theStage();
  await (await freshWindow('cause@many.example', 'developer', 'many-apps')).close();
  const window = await Window.open(daemon.url);
  await window.go('/');
  await window.field('E-mail').fill('cause@many.example');
  await window.field('Password').fill(password);
  await window.button('Sign in').click();
  await window.shows(async () => {
    const { y } = (await window.text(/answered 500/i).boundingBox())!;
    assert.ok(y < window.page.viewportSize()!.height, `it is at ${y}`);
  });
  await window.close();
});

test('health: the list of apps shows what is down beside what is well', async () => {
  await accounts();
  const window = await windowOf('owner', 'many-apps');
  await window.go('/apps');
  await window.shows(async () => {
    const states = new Map((await window.rows('Apps')).map(row => [row[1], row.at(-1)]));
    assert.equal(states.get(downApp), 'Down');
    assert.equal(states.get(`many-${appCount - 1}`), 'Healthy');
  });
  await window.close();
});

test('health: the list of partners says who has endpoints that are down', async () => {
  await accounts();
  const window = await windowOf('support');
  await window.go('/partners');
  await window.shows(async () => {
    const found = new Map((await window.rows('Partners')).map(row => [row[1], row[2]]));
    assert.equal(found.get('many-apps'), '1 not healthy: Down');
    assert.equal(found.get('bare-studio'), 'No problem');
  });
  await window.close();
});

test('health: an account without endpoints has none that are healthy', async () => {
  await accounts();
  const window = await windowOf('owner', 'bare-studio');
  await window.go('/');
  await window.see('No callback URL yet');
  await window.lacks('ealthy', window.page.getByRole('table', { name: 'Endpoints' }));
  await window.close();
});
