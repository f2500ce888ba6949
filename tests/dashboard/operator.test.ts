// The operator's side: partners, the system, rewards by hand, the audit log, looking as a partner.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { until } from './daemon';
import { Window } from './browser';
import { test } from './runner';
import { freshWindow, invite, password, theStage, windowOf } from './stage';

test('operator: a partner is made, and its first owner invited', async () => {
  const { daemon } = await theStage();
  const admin = await windowOf('admin');
  await admin.go('/partners');
  await admin.button('New partner').click();
  await admin.field('Name').fill('Late Bloomer');
  await admin.field('PartnerId').fill('late-bloomer');
  await admin.button('Create').click();
  await admin.heading('Late Bloomer').waitFor();
  await admin.button('Invite the first owner').click();
  await admin.field('E-mail').fill('lea@late.example');
  await admin.button('Create invitation').click();
  const link = await admin.textOf(admin.page.getByRole('region', { name: 'Link' }));
  await admin.button('I have copied it').click();
  const owner = await Window.open(daemon.url);
  await owner.go(link.replace(daemon.url, ''));
  await owner.field('Password').fill(password);
  await owner.button('Create my account').click();
  await owner.heading('Overview').waitFor();
  await owner.see('Late Bloomer');
  await owner.lacks(owner.link('Partners'), owner.link('System'));
  await owner.close();
  await admin.go('/partners?q=bloom');
  await admin.shows(async () => {
    const names = (await admin.rows('Partners')).map(row => row[0]);
    assert.deepEqual(names, ['Late Bloomer']);
  });
  await admin.close();
});

test('operator: an app takes the secret that its receiver has, when it is made and later', async () => {
  const { daemon } = await theStage();
  const secretNow = async () =>
    (await daemon.good('GET', '/api/v1/apps/moved-in/secret')).CallbackSecret;
  const admin = await windowOf('admin');
  admin.expect(/status of 400/);
  await admin.go('/partners/sunny-games');
  await admin.button('New app').click();
  await admin.field('AppId').fill('moved-in');
  await admin.field('Secret').fill('short');
  await admin.button('Create').click();
  await admin.page.locator('.fault').waitFor();
  await admin.field('Secret').fill('from-the-other-network');
  await admin.button('Create').click();
  await admin.heading('moved-in').waitFor();
  assert.equal(await secretNow(), 'from-the-other-network');
  await admin.button('Rotate').click();
  await admin.field('Secret').fill('and-its-newer-one');
  await admin.confirm('Rotate');
  await admin.see('The old secret is valid until');
  assert.equal(await secretNow(), 'and-its-newer-one');
  await admin.close();
  const developer = await windowOf('developer', 'sunny-games');
  await developer.go('/apps/moved-in/postback');
  await developer.button('Rotate').click();
  await developer.field('Overlap').waitFor();
  await developer.lacks(developer.field('Secret'));
  await developer.close();
});

test('operator: a partner’s settings, and an account that is off', async () => {
  const { daemon } = await theStage();
  const { PartnerId } = await daemon.good('POST', '/api/v1/partners', { Name: 'On And Off' });
  const app = { AppId: 'on-off', CurrencyValue: 1 };
  await daemon.good('POST', `/api/v1/partners/${PartnerId}/apps`, app);
  await daemon.good('POST', '/api/v1/apps/on-off/clients', { ClientId: 'on-off-c' });
  const admin = await windowOf('admin');
  admin.expect(/status of 400/);
  await admin.go(`/partners/${PartnerId}/settings`);
  await admin.field('OperationsUrl').fill('ftp://partner.example');
  await admin.button('Save').click();
  await admin.page.locator('.fault').waitFor();
  await admin.field('OperationsUrl').fill('https://partner.example/told');
  await admin.field('Format').selectOption({ label: 'Microsoft Teams' });
  await admin.button('Save').click();
  await admin.said('Saved.');
  await admin.button('Switch the account off').click();
  await admin.confirm('Switch off');
  await admin.see('Events of its clients are rejected as disabled.');
  const partner = await daemon.good('GET', `/api/v1/partners/${PartnerId}`);
  assert.equal(partner.OperationsUrl, 'https://partner.example/told');
  assert.equal(partner.OperationsFormat, 'teams');
  assert.equal(partner.Enabled, false);
  await admin.go(`/partners/${PartnerId}`);
  await admin.link('on-off').click();
  await admin.link('Clients').click();
  await admin.see('on-off-c');
  await admin.close();
});

test('operator: the system page names the endpoint that stands still', async () => {
  const { daemon } = await theStage();
  await daemon.good('POST', '/api/v1/events', {
    EventId: 'system-1',
    Type: 'survey_completed',
    ClientId: 'quiz-iframe',
    PanelistId: 'player-1',
    RevenueAmount: 1,
  });
  const admin = await windowOf('admin');
  await admin.go('/');
  await admin.heading('System').waitFor();
  await admin.shows(async () => {
    const rows = await admin.rows('Worst endpoints');
    const worst = rows.find(row => row[0]!.includes('quiz-night'));
    assert.ok(worst, 'quiz-night is named');
    assert.match(worst[0]!, /sunny-games/);
    assert.match(worst[5]!, /500/);
  });
  await admin.shows(async () => assert.equal((await admin.rows('Limits')).length, 7));
  await admin
    .link(/^quiz-night/)
    .first()
    .click();
  await admin.heading('Quiz Night').waitFor();
  await admin.shows(() =>
    assert.match(admin.page.url(), /\/partners\/sunny-games\/apps\/quiz-night\//),
  );
  await admin.close();
});

test('operator: support sends a callback again, and changes nothing else', async () => {
  const { daemon, receiver } = await theStage();
  await daemon.good('POST', '/api/v1/events', {
    EventId: 'support-1',
    Type: 'survey_completed',
    ClientId: 'farm-ios',
    PanelistId: 'player-1',
    RevenueAmount: 1,
  });
  const sent = () => receiver.received.filter(one => one.body.includes('"support-1"')).length;
  const callback = '/api/v1/callbacks/support-1?partnerId=sunny-games';
  await until('it is delivered', async () => {
    const { State } = await daemon.good('GET', callback);
    return State === 'delivered' && sent() === 1;
  });
  const support = await windowOf('support');
  support.expect(/status of 404/);
  await support.go('/partners/sunny-games');
  await support.lacks(support.link('API keys'));
  const tabs = support.page.getByRole('navigation', { name: 'About the partner' });
  await tabs.getByRole('link', { name: 'Callbacks' }).click();
  await support.field('RewardId').fill('no-such');
  await support.button('Resend').click();
  await support.page.getByRole('alert').first().waitFor();
  await support.field('RewardId').fill('support-1');
  await support.button('Resend').click();
  await support.see(/Delivered: answered 200 after/);
  await until('it came again', async () => sent() === 2);
  const { Items } = await daemon.good('GET', '/api/v1/audit?object=support-1');
  assert.deepEqual(
    Items.map((entry: any) => [entry.Action, entry.Actor.Name]),
    [['callback.resent', 'support@operator.example']],
  );
  await support.close();
});

async function rewardsOf(panelist: string): Promise<any[]> {
  const { daemon } = await theStage();
  const query = `partnerId=sunny-games&panelistId=${panelist}`;
  return (await daemon.good('GET', `/api/v1/callbacks?${query}`)).Items;
}

test('operator: an ad-hoc reward is paid once, however often it is asked for', async () => {
  const { daemon } = await theStage();
  await daemon.good('POST', '/api/v1/apps/farm-friends/clients', { ClientId: 'farm-off' });
  await daemon.good('PATCH', '/api/v1/clients/farm-off', { Enabled: false });
  const admin = await windowOf('admin');
  admin.expect(/ERR_FAILED/);
  await admin.go('/rewards?partner=sunny-games');
  const client = admin.field('Client');
  await client.locator('option[value="farm-ios"]').waitFor({ state: 'attached' });
  // Events of a disabled client are refused: it is not offered.
  await admin.lacks(client.locator('option[value="farm-off"]'));
  await client.selectOption('farm-ios');
  await admin.field('PanelistId').fill('lucky-1');
  await admin.field('Reward').fill('-5');
  await admin.see('This app does not allow claw-backs.');
  await admin.shows(async () => assert.ok(await admin.button('Preview').isDisabled()));
  await admin.field('Reward').fill('150');
  await admin.field('Reason').fill('A survey that hung');
  await admin.button('Preview').click();
  await admin.see('$1.25 at 120 per 1 USD');
  // The daemon takes it, and its answer is lost on the way.
  await admin.page.route(
    '**/api/v1/events',
    async route => {
      await route.fetch();
      await route.abort();
    },
    { times: 1 },
  );
  await admin.button('Pay').click();
  await admin.page.getByRole('dialog').getByRole('alert').waitFor();
  await admin.button('Pay').dblclick();
  await admin.see('Already created. It counts only once.');
  await admin.see('delivered');
  const paid = await rewardsOf('lucky-1');
  assert.equal(paid.length, 1);
  assert.equal(paid[0].Reward, 150);
  await client.selectOption('farm-ios');
  await admin.field('PanelistId').fill('lucky-2');
  await admin.field('Reward').fill('0.5');
  await admin.button('Preview').click();
  await admin.button('Pay').dblclick();
  await admin.see('Reward created.');
  assert.equal((await rewardsOf('lucky-2')).length, 1);
  await admin.close();
});

test('operator: earnings by partner add up, are sorted, and stand in the list of partners', async () => {
  const { daemon } = await theStage();
  await daemon.good('POST', '/api/v1/partners', { PartnerId: 'formula', Name: '=1+1' });
  const admin = await windowOf('admin');
  await admin.go('/earnings');
  const table = admin.page.getByRole('table', { name: 'Earnings' });
  const cells = (text: string) => Number(text.replace(/[^0-9.]/g, ''));
  let lastMonth = '';
  await admin.button('Last month').click();
  await admin.shows(async () => {
    const rows = await admin.rows('Earnings');
    const all = rows.map(row => cells(row[1]!));
    assert.ok(rows.some(row => row[0] === 'Sunny Games'));
    assert.deepEqual(
      all,
      [...all].sort((a, b) => b - a),
      'the greatest first',
    );
    lastMonth = await table.locator('tfoot td').nth(1).innerText();
    const total = cells(lastMonth);
    assert.ok(Math.abs(total - all.reduce((a, b) => a + b, 0)) < 0.01 * rows.length);
    assert.ok(total > 0);
  });
  const [sunny] = (await admin.rows('Earnings')).filter(row => row[0] === 'Sunny Games');
  const [download] = await Promise.all([
    admin.page.waitForEvent('download'),
    admin.button('Download CSV').click(),
  ]);
  const csv = await readFile(await download.path(), 'utf8');
  assert.match(csv, /^PartnerId,Name,Earnings,/);
  assert.match(csv, /\r\nsunny-games,Sunny Games,\d/);
  assert.match(csv, /\r\nformula,'=1\+1,0/, 'a spreadsheet computes nothing');
  await admin.link('Partners').click();
  await admin.shows(async () => {
    const [row] = (await admin.rows('Partners')).filter(one => one[0] === 'Sunny Games');
    assert.equal(row![4], sunny![1], 'last month');
    const foot = admin.page.getByRole('table', { name: 'Partners' }).locator('tfoot td');
    assert.equal(await foot.nth(4).innerText(), lastMonth, 'of all partners');
  });
  await admin.close();
});

test('operator: manual rewards begin with nobody chosen', async () => {
  const admin = await windowOf('admin');
  await admin.go('/rewards');
  await admin.shows(async () => assert.equal(await admin.field('Partner').inputValue(), ''));
  await admin.lacks(admin.field('Client'), admin.field('PanelistId'), admin.button('Preview'));
  await admin.field('Partner').selectOption('sunny-games');
  await admin.field('PanelistId').fill('lucky-3');
  await admin.shows(async () => assert.equal(await admin.field('Client').inputValue(), ''));
  await admin.field('Reward').fill('5');
  await admin.shows(async () => assert.ok(await admin.button('Preview').isDisabled()));
  await admin.field('Client').selectOption('farm-ios');
  await admin.shows(async () => assert.ok(await admin.button('Preview').isEnabled()));
  await admin.link('Reversal').click();
  await admin.field('RewardId of the completed offer').waitFor();
  await admin.close();
});

test('operator: a completed offer is looked at and reversed', async () => {
  const { daemon } = await theStage();
  const admin = await windowOf('admin');
  admin.expect(/status of 404/);
  await admin.go('/rewards?do=reversal&partner=sunny-games');
  await admin.field('RewardId of the completed offer').fill('offer-to-reverse');
  await admin.button('Look up').click();
  await admin.page.getByRole('alert').waitFor();
  // It comes a little later than whoever looks for it.
  await daemon.good('POST', '/api/v1/events', {
    EventId: 'offer-to-reverse',
    Type: 'offer_completed',
    ClientId: 'farm-ios',
    PanelistId: 'unlucky-1',
    OfferId: 7,
    OfferTitle: 'Build a castle',
    RevenueAmount: '2.50',
  });
  await admin.button('Look up').click();
  await admin.see('unlucky-1');
  await admin.button('Reverse it').click();
  await admin.confirm('Reverse it');
  await admin.see('Reward created.');
  const reversed = (await rewardsOf('unlucky-1')).filter(
    one => one.RewardType === 'offer_completion_reversed',
  );
  assert.deepEqual(
    reversed.map(one => [one.Reward, one.RevenueAmount]),
    [[-300, -2.5]],
  );
  await admin.field('RewardId of the completed offer').fill('offer-to-reverse');
  await admin.button('Look up').click();
  await admin.button('Reverse it').click();
  await admin.page.getByRole('dialog').getByRole('button', { name: 'Reverse it' }).click();
  await admin.see('The event was rejected. Nothing was paid.');
  await admin.close();
});

test('operator: the audit log says what a change has changed', async () => {
  const { daemon } = await theStage();
  await daemon.good('PATCH', '/api/v1/apps/word-garden', { TimeoutSeconds: 7 });
  await daemon.good('PATCH', '/api/v1/apps/word-garden', { TimeoutSeconds: 9 });
  const admin = await windowOf('admin');
  await admin.go('/audit');
  await admin.field('Action').selectOption('app.changed');
  await admin.field('Object (its id)').fill('word-garden');
  await admin.button('Filter').click();
  await admin.shows(() =>
    assert.match(admin.page.url(), /action=app\.changed.*object=word-garden/),
  );
  await admin.settled();
  const entries = admin.page.getByRole('list', { name: 'Entries' }).getByRole('listitem');
  await admin.shows(async () => {
    const titles = await entries.locator('strong').allTextContents();
    assert.deepEqual([...new Set(titles)], ['Changed the app word-garden']);
    const newest = entries.first();
    assert.deepEqual(await newest.locator('dt').allTextContents(), ['TimeoutSeconds']);
    assert.deepEqual(await newest.locator('del').allTextContents(), ['before: 7']);
    assert.deepEqual(await newest.locator('ins').allTextContents(), ['after: 9']);
  });
  await admin.close();
});

test('operator: looks as a partner, always says so, and can change nothing', async () => {
  const { daemon } = await theStage();
  const link = await invite(daemon, 'look@operator.example', 'support');
  const support = await Window.open(daemon.url);
  support.expect(/status of 403/);
  await support.go(link);
  await support.field('Password').fill(password);
  await support.button('Create my account').click();
  await support.heading('Partners').waitFor();
  await support.go('/partners/sunny-games');
  await support.button('View as partner').click();
  await support.heading('Overview').waitFor();
  for (const page of ['/', '/callbacks', '/apps/farm-friends/postback']) {
    await support.go(page);
    await support.see('Viewing as Sunny Games.');
    await support.lacks(support.button('Save'), support.button('Resend'));
  }
  const others = ['Test console', 'API keys', 'People', 'Audit log', 'Partners'];
  await support.lacks(...others.map(name => support.link(name)));
  const refused = await support.page.evaluate(async () => {
    const { CsrfToken } = await (await fetch('/api/v1/session')).json();
    const answer = await fetch('/api/v1/apps/farm-friends', {
      method: 'PATCH',
      headers: { 'Content-Type': 'application/json', 'X-Csrf-Token': CsrfToken },
      body: '{"Name":"Stolen"}',
    });
    return answer.status;
  });
  assert.equal(refused, 403);
  await support.button('Exit partner view').click();
  await support.heading('Sunny Games').waitFor();
  await support.lacks(support.text('Viewing as'));
  await support.close();
  const owner = await windowOf('owner', 'sunny-games');
  await owner.go('/audit?action=session.act_as_begun');
  await owner.see('Started viewing as');
  await owner.see('the operator');
  await owner.lacks(owner.text('look@operator.example'));
  await owner.close();
});

test('operator: support sees accounts, and neither the system nor money nor people', async () => {
  const support = await windowOf('support');
  await support.go('/');
  await support.heading('Partners').waitFor();
  await support.link('Sunny Games').waitFor();
  const pages = ['System', 'Manual rewards', 'People'].map(name => support.link(name));
  await support.lacks(support.button('New partner'), ...pages);
  await support.link('Sunny Games').click();
  await support.heading('Sunny Games').waitFor();
  await support.lacks(support.link('People'), support.link('API keys'));
  await support.link('Settings').click();
  await support.see('Events of its clients are accepted.');
  await support.lacks(support.button('Save'), support.button('Switch the account off'));
  for (const page of ['/rewards', '/people', '/partners/x/people/y/z']) {
    await support.go(page);
    await support.heading('Nothing here').waitFor();
  }
  await support.close();
});

test('operator: partners are not shown what is the operator’s, nor each other’s log', async () => {
  const { daemon } = await theStage();
  await daemon.good('PATCH', '/api/v1/apps/ice-runner', { TimeoutSeconds: 8 });
  await daemon.good('PATCH', '/api/v1/apps/farm-friends', { TimeoutSeconds: 8 });
  const sunny = await windowOf('owner', 'sunny-games');
  const north = await windowOf('owner', 'north-studio');
  for (const page of ['/partners', '/partners/north-studio', '/rewards']) {
    await sunny.go(page);
    await sunny.heading('Nothing here').waitFor();
  }
  const log = '/audit?action=app.changed';
  await sunny.go(log);
  await north.go(log);
  await sunny.link('farm-friends').first().waitFor();
  await north.link('ice-runner').first().waitFor();
  await sunny.lacks(sunny.link('ice-runner'));
  await north.lacks(north.link('farm-friends'));
  await north.go(`${log}&object=farm-friends`);
  await north.see('No matching entries');
  await sunny.close();
  await north.close();
  const analyst = await windowOf('analyst', 'sunny-games');
  await analyst.go('/audit');
  await analyst.heading('Nothing here').waitFor();
  await analyst.close();
});

test('operator: the log over all partners is filtered, and leads on as the partner', async () => {
  const { daemon } = await theStage();
  await daemon.good('POST', '/api/v1/apps/ice-runner/clients', { ClientId: 'ice-all' });
  const event = (EventId: string, ClientId: string) => ({
    EventId,
    Type: 'survey_completed',
    ClientId,
    PanelistId: 'of-all',
    RevenueAmount: '0.35',
  });
  // The same id at two partners.
  const events = [event('all-1', 'farm-ios'), event('all-1', 'ice-all'), event('all-2', 'ice-all')];
  const { Accepted } = await daemon.good('POST', '/api/v1/events', events);
  assert.equal(Accepted, 3);
  // A session of its own: going on as a partner ends the one before.
  const support = await freshWindow('logs@operator.example', 'support');
  await support.go('/partners');
  await support.link('Callbacks').click();
  await support.heading('Callbacks').waitFor();
  await support.field('PanelistId').fill('of-all');
  const found = async () =>
    (await support.rows('Callbacks')).map(row => `${row[0]} of ${row[1]}`).sort();
  const [ofNorth, ofSunny] = ['all-1 of north-studio', 'all-1 of sunny-games'];
  await support.shows(async () =>
    assert.deepEqual(await found(), [ofNorth, ofSunny, 'all-2 of north-studio']),
  );
  await support.field('RewardId').fill('all-1');
  await support.shows(async () => assert.deepEqual(await found(), [ofNorth, ofSunny]));
  await support.field('AppId').fill('farm-friends');
  await support.shows(async () => assert.deepEqual(await found(), [ofSunny]));
  await support.button('all-1: view as sunny-games').click();
  await support.heading('all-1').waitFor();
  await support.see('Viewing as Sunny Games');
  // The partner's log is another one than that which was left.
  await support.page.locator('.crumbs a').click();
  await support.see('Callbacks for your panelists');
  await support.shows(() => assert.match(support.page.url(), /\/callbacks$/));
  await support.lacks(support.page.getByRole('columnheader', { name: 'Partner', exact: true }));
  await support.button('Exit partner view').click();
  await support.heading('Sunny Games').waitFor();
  await support.close();
});

test('operator: the log over all partners says what was not read', async () => {
  const answer = { Items: [], Next: null, NextPartners: null, PartnersRead: 3, PartnersAway: 0 };
  const first = { ...answer, NextPartners: 'older', PartnersRead: 198, PartnersAway: 2 };
  const answers = new Map<string | null, object>([
    [null, { ...first, Next: 'rest' }],
    ['rest', { ...first, PartnersRead: 200, PartnersAway: 0 }],
    ['older', answer],
  ]);
  const support = await windowOf('support');
  await support.page.route(
    url => url.pathname === '/api/v1/callbacks',
    (route, request) =>
      route.fulfill({ json: answers.get(new URL(request.url()).searchParams.get('after')) }),
  );
  await support.go('/callbacks');
  await support.see('198 partners read');
  await support.see('2 partners could not be read');
  await support.button('Search older callbacks').click();
  await support.see('Only some of the partners were read.');
  // Of the page that was read before, they are still missing.
  await support.see('2 partners could not be read');
  await support.button('Read older partners').click();
  await support.see('3 partners read, not the newest ones');
  await support.lacks('could not be read', support.button('Read older partners'));
  await support.button('Newest partners').click();
  await support.see('198 partners read'); // read anew, without the rest that was shown before
  await support.lacks(support.button('Newest partners'));
  await support.close();
});
