// Scripts in every text that a partner, a panelist or a receiver can choose: they are shown as text.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from './runner';
import { theStage, windowOf } from './stage';

const script = `<img src=x onerror="alert(1)"><script>alert(2)</script>'"><svg onload=alert(3)>`;

test('hostile: what partners, panelists and receivers write runs nowhere', async () => {
  const { daemon } = await theStage();
  const server = createServer((_, response) => {
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
  const common = { ClientId: 'hostile-c', PanelistId: script, SessionId: script };
  const offer = { Type: 'offer_completed', OfferId: 1, OfferTitle: script, RevenueAmount: 1 };
  await daemon.good('POST', '/api/v1/events', [
    { EventId: 'hostile-1', ...offer, ...common },
    { EventId: 'hostile-2', Type: 'ad_hoc', Reward: 1, Reason: script, ...common },
  ]);
  const window = await windowOf('owner', 'sunny-games');
  const pages = [
    '/callbacks',
    '/callbacks/hostile-1',
    '/callbacks/hostile-2',
    '/apps',
    '/apps/hostile',
  ];
  for (const page of [...pages, '/apps/hostile/clients', '/console?app=hostile', '/docs', '/']) {
    await (await window.go(page)).settled();
    for (const summary of await window.page.locator('summary').all()) await summary.click();
    assert.equal(await window.page.locator('img, #main script, svg[onload]').count(), 0, page);
  }
  await (await window.go('/callbacks/hostile-1')).settled();
  await window.text('Request and response').click();
  await window.see(script);
  await window.go(`/callbacks?panelistId=${encodeURIComponent(script)}`);
  await window.link('hostile-1').waitFor();
  await window.close();
  server.closeAllConnections();
  server.close();
});

test('hostile: addresses that are not ours lead nowhere', async () => {
  const window = await windowOf('owner', 'sunny-games');
  window.expect(/status of 404/, /status of 400/);
  const addresses = [
    '/apps/%00',
    '/apps/..%2f..',
    '/callbacks/%E0%A4%A',
    `/apps/${encodeURIComponent(script)}`,
  ];
  for (const address of [...addresses, '/no/such/page', '/reports?report=<script>']) {
    await window.go(address);
    assert.equal(await window.page.locator('img').count(), 0, address);
  }
  await window.close();
});
