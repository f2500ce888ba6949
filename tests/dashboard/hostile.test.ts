// Scripts in every text that a partner, a panelist or a receiver can choose: they are shown as text.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from './runner';
import type { Window } from './browser';
import { until } from './daemon';
import { freshWindow, password, theStage, windowOf } from './stage';

const script = `<img src=x onerror="alert(1)"><script>alert(2)</script>'"><svg onload=alert(3)>`;

/** What was written as a script is nowhere an element of the page, folded parts included. */
async function lacksScripts(window: Window): Promise<void> {
  await window.unfold();
  await window.lacks(window.page.locator('img, #main script, svg[onload]'));
}

test('hostile: what partners, panelists and receivers write runs nowhere', async () => {
  const { daemon } = await theStage();
  const server = createServer((request, response) => {
    if (request.url === '/moved') {
      response.writeHead(302, { Location: `https://evil.example/${script}` }).end();
      return;
    }
    response.writeHead(500, {
      'Content-Type': 'text/html',
      'X-Evil': '<script>alert(4)</script>',
    });
    response.end(script);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await daemon.good('POST', '/api/v1/partners/sunny-games/apps', {
    AppId: 'hostile',
    Name: script,
    CurrencyValue: 1,
    SuccessCallbackUrl: url,
    OfferCallbackUrl: url,
  });
  await daemon.good('POST', '/api/v1/apps/hostile/clients', {
    ClientId: 'hostile-c',
    Name: script,
  });
  await daemon.good('POST', '/api/v1/partners/sunny-games/apps', {
    AppId: 'hostile-moved',
    CurrencyValue: 1,
    SuccessCallbackUrl: `${url}moved`,
  });
  await daemon.good('POST', '/api/v1/apps/hostile-moved/clients', {
    ClientId: 'hostile-moved-c',
    Integration: 'monetization_api',
  });
  const common = { ClientId: 'hostile-c', PanelistId: script, SessionId: script };
  const offer = { Type: 'offer_completed', OfferId: 1, OfferTitle: script, RevenueAmount: 1 };
  await daemon.good('POST', '/api/v1/events', [
    { EventId: 'hostile-1', ...offer, ...common },
    { EventId: 'hostile-2', Type: 'ad_hoc', Reward: 1, Reason: script, ...common },
    {
      EventId: 'hostile-3',
      Type: 'survey_completed',
      RevenueAmount: 1,
      Mid: script,
      PanelistId: script,
      ClientId: 'hostile-moved-c',
    },
    { ...offer, ...common, EventId: 'hostile-4', OfferGoalId: script },
  ]);
  await until('the redirect is logged', async () => {
    const path = '/api/v1/callbacks/hostile-3?partnerId=sunny-games';
    return (await daemon.good('GET', path)).Attempts.length > 0;
  });
  const window = await windowOf('owner', 'sunny-games');
  const pages = [
    '/callbacks',
    '/callbacks/hostile-1',
    '/callbacks/hostile-2',
    '/callbacks/hostile-3',
    '/callbacks/hostile-4',
    '/apps',
    '/apps/hostile',
  ];
  pages.push('/docs', '/docs/callbacks', '/docs/verify', `/docs?q=${encodeURIComponent(script)}`);
  for (const page of [...pages, '/apps/hostile/clients', '/console?app=hostile', '/']) {
    await window.go(page);
    await lacksScripts(window);
  }
  await window.go('/callbacks/hostile-1');
  await window.see(script);
  await window.go(`/callbacks?panelistId=${encodeURIComponent(script)}`);
  await window.link('hostile-1').waitFor();
  await window.close();
  server.closeAllConnections();
  server.close();
});

test('hostile: names, and who somebody says he is, run nowhere', async () => {
  const { daemon } = await theStage();
  await daemon.good('POST', '/api/v1/partners', { PartnerId: 'evil', Name: script });
  await daemon.good('POST', '/api/v1/partners/evil/apps', {
    AppId: 'evil-app',
    Name: script,
    CurrencyValue: 1,
  });
  await daemon.good('PATCH', '/api/v1/apps/evil-app', { Name: `${script}!` });
  const key = { Name: script, Scopes: ['reports:read'] };
  await daemon.good('POST', '/api/v1/partners/evil/keys', key);
  const owner = await freshWindow('eve@evil.example', 'owner', 'evil');
  const { Items } = await daemon.good('GET', '/api/v1/users?partnerId=evil');
  await daemon.good('PATCH', `/api/v1/users/${Items[0].UserId}`, { Name: script });
  const answer = await fetch(`${daemon.url}/api/v1/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'User-Agent': script },
    body: JSON.stringify({ Email: 'eve@evil.example', Password: password }),
  });
  assert.equal(answer.status, 200);
  const admin = await windowOf('admin');
  const shown: [Window, string[]][] = [
    [owner, ['/', '/apps', '/apps/evil-app', '/people', '/keys', '/account', '/audit']],
    [admin, ['/', '/partners', '/partners/evil', '/audit']],
    [admin, ['people', 'keys', 'settings', 'apps/evil-app'].map(tab => `/partners/evil/${tab}`)],
  ];
  for (const [window, pages] of shown) {
    for (const page of pages) {
      await window.go(page);
      await lacksScripts(window);
    }
  }
  await owner.go('/account');
  await owner.see(script);
  await owner.close();
  await admin.close();
});

test('hostile: addresses that are not ours lead nowhere', async () => {
  const window = await windowOf('owner', 'sunny-games');
  window.expect(/status of 404/, /status of 400/, /does not conform to the required format/);
  const addresses = [
    '/apps/%00',
    '/apps/..%2f..',
    '/callbacks/%E0%A4%A',
    `/apps/${encodeURIComponent(script)}`,
  ];
  const asked = encodeURIComponent(script);
  addresses.push(`/callbacks?state=${asked}&type=${asked}&from=${asked}&q=${asked}`);
  addresses.push(
    `/reports?report=${asked}&startDate=${asked}`,
    `/console?app=${asked}&do=${asked}`,
  );
  addresses.push(`/docs?q=${asked}`, `/docs/${asked}`, `/docs/verify?file=${asked}#${asked}`);
  addresses.push(`/audit?action=${asked}`, `/link#${asked}`);
  for (const address of [...addresses, '/no/such/page', '/reports?report=<script>']) {
    await window.go(address);
    await lacksScripts(window);
  }
  await window.close();
});
