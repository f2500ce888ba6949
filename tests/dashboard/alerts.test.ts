// Alerts: where messages about callback URLs go, and what they are about now.
import assert from 'node:assert/strict';
import { test } from './runner';
import { theStage, windowOf } from './stage';

test('alerts: a developer sets the URL, and sees the secret and what is down', async () => {
  const { daemon } = await theStage();
  await daemon.good('POST', '/api/v1/events', {
    EventId: 'alert-1',
    Type: 'survey_completed',
    ClientId: 'quiz-iframe',
    PanelistId: 'player-1',
    RevenueAmount: 1,
  });
  const window = await windowOf('developer', 'sunny-games');
  window.expect(/status of 400/);
  await window.go('/');
  await window.link('Alerts').click();
  await window.see('Nobody is told when a callback URL stops working');
  await window.shows(async () => {
    const down = await window.rows('Down now');
    assert.match(down[0]!.join(' '), /Quiz Night.*500/s);
  });
  await window.field('OperationsUrl').fill('ftp://partner.example');
  await window.button('Save').click();
  await window.page.locator('.fault').waitFor();
  await window.field('OperationsUrl').fill('https://partner.example/alerts');
  await window.button('Save').click();
  await window.said('Saved.');
  await window.lacks('Nobody is told when a callback URL stops working');
  const partner = () => daemon.good('GET', '/api/v1/partners/sunny-games');
  assert.equal((await partner()).OperationsUrl, 'https://partner.example/alerts');
  await window.lacks('whsec_');
  await window.button('Show').click();
  const kept = await daemon.good('GET', '/api/v1/partners/sunny-games/operations-secret');
  await window.shows(async () => {
    const shown = await window.page.locator('code.secret').textContent();
    assert.equal(shown, kept.OperationsSecret);
  });
  await window.button('Rotate').click();
  await window.page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
  await window.see('The older secret is still live until');
  await window.field('OperationsUrl').fill('');
  await window.button('Save').click();
  await window.see('Nobody is told when a callback URL stops working');
  assert.equal((await partner()).OperationsUrl, null);
  await window.close();
});

test('alerts: an analyst reads them, and sees no secret', async () => {
  const window = await windowOf('analyst', 'sunny-games');
  await window.go('/alerts');
  await window.see('endpoint.certificate_expiring');
  await window.lacks(window.button('Save'), window.button('Show'), window.button('Rotate'));
  await window.close();
});
