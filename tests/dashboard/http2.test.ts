// The dashboard over TLS, where a browser speaks HTTP/2.
import assert from 'node:assert/strict';
import { Window } from './browser';
import { Daemon, Receiver, until } from './daemon';
import { test } from './runner';
import { freshWindow, password, theStage } from './stage';

const email = 'secure@sunny.example';

async function makeApp(daemon: Daemon, receiver: Receiver): Promise<void> {
  await daemon.good('POST', '/api/v1/partners', { PartnerId: 'sunny', Name: 'Sunny Games' });
  await daemon.good('POST', '/api/v1/partners/sunny/apps', {
    AppId: 'secure-app',
    Name: 'Secure App',
    CurrencyValue: 100,
    SuccessCallbackUrl: `${receiver.url}/secure`,
  });
  const client = { ClientId: 'secure-sdk', Integration: 'sdk' };
  await daemon.good('POST', '/api/v1/apps/secure-app/clients', client);
}

/** The protocol of each answer, by its path, and how many messages live streams have brought. */
async function listen(window: Window) {
  const chrome = await window.context.newCDPSession(window.page);
  const heard = { protocols: new Map<string, string>(), messages: 0 };
  chrome.on('Network.responseReceived', ({ response }) => {
    const { protocol, pathname } = new URL(response.url);
    if (protocol === 'https:') heard.protocols.set(pathname, response.protocol ?? '');
  });
  chrome.on('Network.eventSourceMessageReceived', () => heard.messages++);
  await chrome.send('Network.enable');
  return heard;
}

test('http2: a browser over TLS signs in, reads, and follows the live stream', async () => {
  await theStage(); // the browser
  const daemon = await Daemon.startOverTls();
  const receiver = await Receiver.start();
  await makeApp(daemon, receiver);
  const first = await freshWindow(email, 'owner', 'sunny', daemon);
  await first.close();

  const window = await Window.open(daemon.url);
  window.expect(/status of 401/); // nobody is signed in yet
  const heard = await listen(window);
  await window.go('/');
  await window.field('E-mail').fill(email);
  await window.field('Password').fill(password);
  await window.button('Sign in').click();
  await window.heading('Overview').waitFor();
  await window.settled();
  await until('the stream has begun', async () => heard.messages > 0);

  const before = heard.messages;
  await daemon.good('POST', '/api/v1/events', {
    EventId: 'secure-1',
    Type: 'survey_completed',
    ClientId: 'secure-sdk',
    PanelistId: 'somebody',
    RevenueAmount: '0.35',
  });
  await until('the callback has arrived', async () => receiver.received.length === 1);
  await until('the stream tells of it', async () => heard.messages > before);

  const others = [...heard.protocols].filter(([, protocol]) => protocol !== 'h2');
  assert.deepEqual(others, []);
  assert.ok(heard.protocols.has('/') && heard.protocols.has('/api/v1/live'));
  const hops = await window.page.evaluate(() =>
    [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
      .map(entry => (entry as PerformanceResourceTiming).nextHopProtocol)
      .filter(hop => hop !== ''),
  );
  assert.ok(hops.length > 5);
  assert.deepEqual([...new Set(hops)], ['h2']);
  await window.close();
  await daemon.stop();
  await receiver.stop();
});
