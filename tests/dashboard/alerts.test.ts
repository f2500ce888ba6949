// Alerts: where messages about callback URLs go, and what they are about now.
import assert from 'node:assert/strict';
import { test } from './runner';
import { theStage, windowOf } from './stage';

test('alerts: a developer sets the URL, and sees the secret and what is down', async () => {
  const { daemon, broken } = await theStage();
  // An app of its own: whether others' endpoints are down depends on what was tried before.
  await daemon.good('POST', '/api/v1/partners/sunny-games/apps', {
    AppId: 'alert-app',
    Name: 'Alert App',
    CurrencyValue: 100,
    SuccessCallbackUrl: `${broken.url}/alert-app/success`,
  });
  const client = { ClientId: 'alert-sdk', Name: 'alert-sdk', Integration: 'sdk' };
  await daemon.good('POST', '/api/v1/apps/alert-app/clients', client);
  const events = Array.from({ length: 30 }, (_, n) => ({
    EventId: `alert-${n}`,
    Type: 'survey_completed',
    ClientId: 'alert-sdk',
    PanelistId: 'player-1',
    RevenueAmount: 1,
  }));
  await daemon.good('POST', '/api/v1/events', events);
  const window = await windowOf('developer', 'sunny-games');
  window.expect(/status of 400/);
  await window.go('/');
  await window.link('Alerts').click();
  await window.see('Nobody is notified when a callback URL stops working');
  await window.shows(async () => {
    const down = await window.rows('Endpoints');
    assert.ok(down.some(row => /Alert App.*500/s.test(row.join(' '))));
  });
  // It answers again, but most of its last hour failed: no message, and still not well.
  await window.page.route('**/api/v1/endpoints', async route => {
    const answer = await route.fetch();
    const json = await answer.json();
    for (const { Endpoint } of json.NotHealthy)
      Object.assign(Endpoint, { Health: 'failing', State: 'open' });
    await route.fulfill({ response: answer, json });
  });
  await window.shows(async () => {
    const failing = await window.rows('Endpoints');
    assert.ok(failing.some(row => /Alert App.*Failing/s.test(row.join(' '))));
  });
  await window.page.unrouteAll({ behavior: 'wait' });
  await window.field('OperationsUrl').fill('ftp://partner.example');
  await window.button('Save').click();
  await window.page.locator('.fault').waitFor();
  await window.field('OperationsUrl').fill('https://partner.example/alerts');
  await window.button('Save').click();
  await window.said('Saved.');
  await window.lacks('Nobody is notified when a callback URL stops working');
  const partner = () => daemon.good('GET', '/api/v1/partners/sunny-games');
  assert.equal((await partner()).OperationsUrl, 'https://partner.example/alerts');
  await window.field('Format').selectOption({ label: 'Slack' });
  await window.button('Save').click();
  await window.shows(async () => assert.equal((await partner()).OperationsFormat, 'slack'));
  await window.go('/alerts');
  await window.shows(async () => assert.equal(await window.field('Format').inputValue(), 'slack'));
  await window.field('Format').selectOption({ label: 'Standard Webhooks' });
  await window.button('Save').click();
  await window.shows(async () => assert.equal((await partner()).OperationsFormat, undefined));
  await window.field('E-mail').fill('alerts@partner@example');
  await window.button('Save').click();
  await window.page.locator('.fault').waitFor();
  await window.field('E-mail').fill('alerts@partner.example');
  await window.button('Save').click();
  await window.shows(async () =>
    assert.equal((await partner()).OperationsEmail, 'alerts@partner.example'),
  );
  await window.lacks('whsec_');
  await window.button('Show').click();
  const kept = await daemon.good('GET', '/api/v1/partners/sunny-games/operations-secret');
  await window.shows(async () => {
    const shown = await window.page.locator('code.secret').textContent();
    assert.equal(shown, kept.OperationsSecret);
  });
  await window.button('Rotate').click();
  await window.confirm('Rotate');
  await window.see('The old secret is valid until');
  await window.field('OperationsUrl').fill('');
  await window.field('E-mail').fill('');
  await window.button('Save').click();
  await window.see('Nobody is notified when a callback URL stops working');
  assert.equal((await partner()).OperationsUrl, null);
  await window.close();
});

test('alerts: an analyst reads them, and sees no secret', async () => {
  const window = await windowOf('analyst', 'sunny-games');
  await window.go('/alerts');
  await window.see('endpoint.certificate_expiring');
  await window.see('statement.ready');
  await window.shows(async () => assert.ok(await window.field('Format').isDisabled()));
  await window.lacks(window.button('Save'), window.button('Show'), window.button('Rotate'));
  await window.close();
});
