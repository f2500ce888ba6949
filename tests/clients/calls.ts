// What somebody writes with the types that openapi-typescript makes of /openapi.json: it is compiled
// strictly, then run with the server's address, an operator's key and a partner's id.
import createClient from 'openapi-fetch';
import type { components, paths, webhooks } from './api.js';

declare const process: { argv: string[]; exitCode: number };
type Event = components['schemas']['Event'];
type Received = webhooks['offer']['post']['requestBody']['content']['application/json'];

const [, , baseUrl, key, partnerId] = process.argv;
const client = createClient<paths>({
  baseUrl,
  headers: { Authorization: `Bearer ${key}` },
  querySerializer: { array: { style: 'form', explode: false } },
});

function good<T>(answer: { data?: T; error?: components['schemas']['Problem'] }): T {
  if (!answer.data) throw new Error(answer.error?.detail ?? 'no answer');
  return answer.data;
}

const app = good(
  await client.POST('/api/v1/partners/{PartnerId}/apps', {
    params: { path: { PartnerId: partnerId } },
    body: { Name: 'Made by a client', CurrencyValue: 100, RewardTypes: ['survey_completed'] },
  }),
);
const made = await Promise.all(
  ['sdk' as const, 'iframe' as const].map(async Integration =>
    good(
      await client.POST('/api/v1/apps/{AppId}/clients', {
        params: { path: { AppId: app.AppId } },
        body: { Integration },
      }),
    ),
  ),
);
const event = (n: number): Event => ({
  EventId: `client-${n}`,
  Type: 'survey_completed',
  ClientId: made[n].ClientId,
  PanelistId: 'user-1',
  RevenueAmount: '1.25',
});
const reported = good(await client.POST('/api/v1/events', { body: [event(0), event(1)] }));
const report = good(
  await client.GET('/api/v1/reports/earnings', {
    params: { query: { partnerId, clientIds: made.map(c => c.ClientId), format: 'json' } },
  }),
);
const refused = await client.PATCH('/api/v1/apps/{AppId}', {
  params: { path: { AppId: app.AppId }, header: { 'If-Match': '"v0"' } },
  body: { TimeoutSeconds: 5 },
});

// What the description does not allow is no TypeScript.
// @ts-expect-error no such type
const wrongType: Event['Type'] = 'survey_finished';
// @ts-expect-error surveys have no offer
const wrongField: Event = { ...event(0), OfferId: 1 };
// @ts-expect-error an offer has a title
const wrongOffer: Event = {
  EventId: 'o',
  Type: 'offer_clicked',
  ClientId: 'c',
  PanelistId: 'u',
  OfferId: 1,
};
// @ts-expect-error PanelistId is a text
const wrongPanelist: Received['PanelistId'] = 1;
// @ts-expect-error no such parameter
await client.GET('/api/v1/partners', { params: { query: { page: 2 } } });

console.log(
  JSON.stringify({
    Name: app.Name,
    Accepted: reported.Accepted,
    Earnings: typeof report === 'string' ? [] : report.Rows.map(row => row.Earnings),
    Refused: [refused.response.status, refused.error?.status],
    Wrong: [wrongType, wrongField.Type, wrongOffer.Type, wrongPanelist],
  }),
);
