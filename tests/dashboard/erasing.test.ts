// Erasing a panelist: a preview, a confirmation that is typed, and nothing of it left.
import assert from 'node:assert/strict';
import { until } from './daemon';
import { test } from './runner';
import { theStage, windowOf } from './stage';

test('erasing: what there is is shown, and goes only when its id is typed', async () => {
  const { daemon } = await theStage();
  const event = (EventId: string, Type: string, more = {}) => ({
    EventId,
    Type,
    ClientId: 'farm-ios',
    PanelistId: 'forget-me',
    SessionId: 'forget-session',
    ...more,
  });
  await daemon.good('POST', '/api/v1/events', [
    event('forget-1', 'survey_started'),
    event('forget-2', 'survey_completed', { RevenueAmount: '1.00' }),
    event('forget-3', 'survey_completed', { RevenueAmount: '2.00', PanelistId: 'forget-me-not' }),
  ]);
  const callback = () => daemon.good('GET', '/api/v1/callbacks/forget-2?partnerId=sunny-games');
  await until('it is delivered', async () => (await callback()).State === 'delivered');
  const window = await windowOf('developer', 'sunny-games');
  await window.go('/');
  await window.link('Erase a panelist').click();
  await window.field('PanelistId').fill('forget-me');
  await window.button('Preview').click();
  await window.see('1 callback');
  await window.see('farm-friends');
  await window.button('Erase this panelist').click();
  const dialog = window.page.getByRole('dialog');
  const confirm = dialog.getByRole('button', { name: 'Erase permanently' });
  const typed = dialog.getByLabel('Type the PanelistId to confirm');
  await typed.fill('forget-m');
  await typed.press('Enter');
  await window.shows(async () => assert.ok(await confirm.isDisabled()));
  assert.equal((await callback()).PanelistId, 'forget-me', 'nothing is erased yet');
  await typed.fill('forget-me');
  assert.deepEqual(await window.accessibilityFaults(), []);
  await confirm.click();
  await window.see('2 events erased.');
  await window.lacks('forget-me');
  await window.shows(() => assert.doesNotMatch(window.page.url(), /forget/));
  const left = await callback();
  assert.notEqual(left.PanelistId, 'forget-me');
  assert.deepEqual([left.RevenueAmount, left.Body], [1, null]);
  const other = await daemon.good('GET', '/api/v1/callbacks/forget-3?partnerId=sunny-games');
  assert.equal(other.PanelistId, 'forget-me-not', 'a neighbour stays');
  await window.field('PanelistId').fill('forget-me');
  await window.button('Preview').click();
  await window.see('No callback of this panelist');
  await window.button('Erase this panelist').click();
  await typed.fill('forget-me');
  await confirm.click();
  await window.see('Nothing was erased');
  await window.close();
});

test('erasing: only who may erase is shown the page', async () => {
  const window = await windowOf('analyst', 'sunny-games');
  await window.go('/');
  await window.lacks(window.link('Erase a panelist'));
  await window.go('/erase');
  await window.heading('Nothing here').waitFor();
  await window.close();
});
