// Charts of deliveries: of an account, an app, an endpoint, and for the operator of a partner.
import assert from 'node:assert/strict';
import { Receiver, until } from './daemon';
import { test } from './runner';
import { theStage, windowOf } from './stage';

test('deliveries: an account, its app and each endpoint show what was tried', async () => {
  const { daemon } = await theStage();
  const good = await Receiver.start();
  const wrong = await Receiver.start();
  wrong.status = 404;
  await daemon.good('POST', '/api/v1/partners', { PartnerId: 'chart-studio', Name: 'Charts' });
  await daemon.good('POST', '/api/v1/partners/chart-studio/apps', {
    AppId: 'chart-app',
    Name: 'Chart App',
    CurrencyValue: 10,
    SuccessCallbackUrl: good.url,
    FailureCallbackUrl: wrong.url,
    FinalStatuses: [404],
  });
  const client = { ClientId: 'chart-sdk', Integration: 'sdk' };
  await daemon.good('POST', '/api/v1/apps/chart-app/clients', client);
  const event = (Type: string, n: number) => ({
    EventId: `chart-${Type}-${n}`,
    Type,
    ...{ ClientId: 'chart-sdk', PanelistId: 'p', RevenueAmount: '1.00' },
  });
  await daemon.good('POST', '/api/v1/events', [
    ...[1, 2, 3].map(n => event('survey_completed', n)),
    ...[1, 2].map(n => event('survey_disqualified', n)),
  ]);
  const total = async () =>
    (await daemon.good('GET', '/api/v1/apps/chart-app/delivery-statistics')).Total;
  await until('all were tried', async () => {
    const { Succeeded, Failed } = await total();
    return Succeeded === 3 && Failed === 2;
  });

  const window = await windowOf('owner', 'chart-studio');
  const card = (name: string) => window.page.getByRole('region', { name, exact: true });
  /** Of all rows, as a test may run over the end of a point. */
  const shows = async (name: string, delivered: number, failed: number) => {
    await card(name).getByText(`${delivered} attempts delivered and ${failed} failed`).waitFor();
    await card(name).getByText('Numbers', { exact: true }).click();
    await window.shows(async () => {
      const rows = await window.rows(`${name}, numbers`);
      const sum = (column: number) => rows.reduce((n, row) => n + Number(row[column]), 0);
      assert.deepEqual([sum(1), sum(2)], [delivered, failed]);
      if (failed) assert.ok(rows.some(row => row[3]!.startsWith('Error status: ')));
    });
  };
  await window.go('/');
  await shows('Deliveries', 3, 2);
  await window.go('/apps/chart-app');
  await shows('Deliveries', 3, 2);
  await card('Deliveries').getByRole('button', { name: '30 days' }).click();
  await window.page
    .getByRole('img', { name: 'Deliveries, chart by day. Arrow keys read the values.' })
    .waitFor();
  await window.go('/apps/chart-app/postback');
  await shows('Deliveries: Success', 3, 0);
  await shows('Deliveries: Failure', 0, 2);

  // The answer is another one than the app asks for: tried again, so this has no number.
  await daemon.good('PATCH', '/api/v1/apps/chart-app', { SuccessAnswer: { Body: 'credited' } });
  await daemon.good('POST', '/api/v1/events', [event('survey_completed', 4)]);
  await until('its answer was read', async () => (await total()).Failures.unexpected_answer > 0);
  await window.go('/apps/chart-app');
  const legend = card('Deliveries').getByRole('list', { name: 'Legend' }).first();
  await legend.getByText('Wrong answer body', { exact: true }).waitFor();
  await window.close();

  const support = await windowOf('support');
  await support.go('/partners/chart-studio/deliveries');
  await support.see(/3 attempts delivered and \d+ failed/);
  await support.close();
  await good.stop();
  await wrong.stop();
});
