// Resending: the answer is shown where it was asked for, or what the callback waits behind.
import assert from 'node:assert/strict';
import { Receiver, until } from './daemon';
import { test } from './runner';
import { theStage, windowOf, type Stage } from './stage';

/** An app of its own, with callbacks that were sent to a receiver. */
async function makeApp(stage: Stage, id: string, receiver: Receiver, ids: string[]): Promise<void> {
  await stage.daemon.good('POST', '/api/v1/partners/sunny-games/apps', {
    AppId: id,
    Name: id,
    CurrencyValue: 100,
    SuccessCallbackUrl: `${receiver.url}/success`,
  });
  const client = { ClientId: `${id}-sdk`, Integration: 'sdk' };
  await stage.daemon.good('POST', `/api/v1/apps/${id}/clients`, client);
  const events = ids.map(name => ({
    EventId: name,
    Type: 'survey_completed',
    ClientId: `${id}-sdk`,
    PanelistId: `of-${name}`,
    RevenueAmount: '0.35',
  }));
  await stage.daemon.good('POST', '/api/v1/events', events);
}

const callback = (stage: Stage, id: string) =>
  stage.daemon.good('GET', `/api/v1/callbacks/${id}?partnerId=sunny-games`);

test('resend: the answer is shown inline, good or bad', async () => {
  const stage = await theStage();
  const receiver = await Receiver.start();
  receiver.status = 404;
  await makeApp(stage, 'answer-app', receiver, ['answer-1', 'answer-2']);
  await until('both have failed for now', async () => {
    const all = await Promise.all(['answer-1', 'answer-2'].map(id => callback(stage, id)));
    return all.every(one => one.AttemptCount === 3);
  });
  const window = await windowOf('developer', 'sunny-games');
  await window.go('/callbacks/answer-1');
  await window.button('Resend').click();
  await window.page
    .getByRole('alert')
    .filter({ hasText: /Answered 404.*after/ })
    .first()
    .waitFor();
  await window.shows(async () => assert.equal((await callback(stage, 'answer-1')).AttemptCount, 4));
  receiver.status = 200;
  await window.button('Resend').click();
  await window.see(/Delivered: answered 200 after/);
  await window.go('/callbacks?appId=answer-app');
  await window.field('Select answer-2').check();
  await window.button('Resend 1').click();
  const answers = window.page.getByRole('region', { name: 'Resend results' });
  await answers.getByText(/Delivered: answered 200 after/).waitFor();
  await answers.getByRole('link', { name: 'answer-2' }).waitFor();
  await window.close();
  await receiver.stop();
});

test('resend: an answer from before is not shown as the new one', async () => {
  const stage = await theStage();
  const receiver = await Receiver.start();
  await makeApp(stage, 'older-app', receiver, ['older-1']);
  const attempts = (count: number) =>
    until(`attempt ${count} was made`, async () => {
      const { AttemptCount, State } = await callback(stage, 'older-1');
      return AttemptCount === count && State === 'delivered';
    });
  await attempts(1);
  const window = await windowOf('developer', 'sunny-games');
  await window.go('/callbacks?appId=older-app');
  await window.field('Select older-1').check();
  // Somebody else resends it; the log, which is read, does not follow.
  receiver.status = 202;
  await stage.daemon.good('POST', '/api/v1/callbacks/older-1/resend?partnerId=sunny-games');
  await attempts(2);
  receiver.status = 200;
  await stage.daemon.good('PATCH', '/api/v1/apps/older-app', { Enabled: false });
  await window.button('Resend 1').click();
  const answers = window.page.getByRole('region', { name: 'Resend results' });
  await answers.getByText('The app is off.').waitFor();
  await stage.daemon.good('PATCH', '/api/v1/apps/older-app', { Enabled: true });
  await answers.getByText(/^Delivered: answered 200 after/).waitFor();
  await window.close();
  await receiver.stop();
});

test('resend: on an endpoint that is down it is the probe, and opens it', async () => {
  const stage = await theStage();
  const receiver = await Receiver.start();
  receiver.status = 500;
  const ids = Array.from({ length: 30 }, (_, n) => `probe-${n}`);
  await makeApp(stage, 'probe-app', receiver, ids);
  await until('its endpoint is down', async () => {
    const { Endpoints } = await stage.daemon.good('GET', '/api/v1/apps/probe-app/endpoints');
    return Endpoints[0].State === 'suspended';
  });
  const untried = await until('one waits without an attempt', async () => {
    const path = '/api/v1/callbacks?partnerId=sunny-games&appId=probe-app&state=pending';
    const { Items } = await stage.daemon.good('GET', path);
    return Items.find((row: { AttemptCount: number }) => row.AttemptCount === 0)?.RewardId;
  });
  const window = await windowOf('developer', 'sunny-games');
  await window.go(`/callbacks/${untried}`);
  await window.see('No attempt yet');
  await window.see(/^Endpoint: Down since .*Answered 500/);
  await window.link('Endpoint: Down').waitFor();
  await window.button('Resend').click();
  await window.page
    .getByRole('alert')
    .filter({ hasText: /Answered 500.*after/ })
    .first()
    .waitFor();
  receiver.status = 200;
  await window.button('Resend').click();
  await window.see(/Delivered: answered 200 after/);
  await until('its endpoint is open', async () => {
    const { Endpoints } = await stage.daemon.good('GET', '/api/v1/apps/probe-app/endpoints');
    return Endpoints[0].State === 'open';
  });
  await window.close();
  await receiver.stop();
});

test('resend: what waits says behind what', async () => {
  const stage = await theStage();
  const receiver = await Receiver.start();
  await makeApp(stage, 'wait-app', receiver, ['wait-1']);
  await until(
    'it is delivered',
    async () => (await callback(stage, 'wait-1')).State === 'delivered',
  );
  await stage.daemon.good('PATCH', '/api/v1/apps/wait-app', { Enabled: false });
  const window = await windowOf('developer', 'sunny-games');
  await window.go('/callbacks/wait-1');
  await window.button('Resend').click();
  await window.see(/^Waiting$/);
  await window.see('The app is off.');
  await stage.daemon.good('PATCH', '/api/v1/apps/wait-app', { Enabled: true });
  await window.see(/Delivered: answered 200 after/);
  await window.close();
  await receiver.stop();
});
