// What the search field leads to: a callback by its EventId (which is its RewardId), a panelist's
// callbacks, or an endpoint by its URL. An operator's search goes through the partners, one by one.
import { path, get } from '../lib/http';
import type { App, Callback, Endpoint, List, Partner, PartnerName } from '../lib/types';
import { callbackPage } from '../pages/callbacks/paths';
import { tabOf } from '../ui/health';
import { everyItem } from './resource';
import { may, me, partnerId } from './session';

export interface Found {
  kind: 'Callback' | 'Panelist' | 'Endpoint';
  title: string;
  href: string;
  /** Its page is the partner's own: an operator opens it in the partner's view. */
  viewAs: PartnerName | null;
}

export interface Answer {
  found: Found[];
  /** Partners that were not searched. */
  left: number;
}

export const partnersMost = 100;
const partnersAtOnce = 3;
const foundMost = 10;

/** Without a password, and as one compares addresses. */
const bare = (url: string) => url.replace(/\/\/[^/@]*@/, '//').toLowerCase();

const endpointsOf = (app: App): [Endpoint['Endpoint'], string | null][] => [
  ['success', app.SuccessCallbackUrl],
  ['failure', app.FailureCallbackUrl],
  ['offer', app.OfferCallbackUrl],
];

/** Whether somebody means a URL: ids have no such characters, or hardly ever. */
const isLikeUrl = (text: string) => /[/.]/.test(text) && text.length >= 4;

async function endpoints(
  account: string,
  pageOf: (app: string) => string,
  text: string,
  signal: AbortSignal,
): Promise<Found[]> {
  if (!may('apps:read') || !isLikeUrl(text)) return [];
  const apps = await everyItem<App>(path`/api/v1/partners/${account}/apps`, {}, signal);
  const wanted = bare(text);
  return apps.flatMap(app =>
    endpointsOf(app)
      .filter(([, url]) => url && (bare(url).includes(wanted) || wanted.startsWith(bare(url))))
      .map(([endpoint, url]) => ({
        kind: 'Endpoint' as const,
        title: `${url} (${app.Name || app.AppId})`,
        href: `${pageOf(app.AppId)}/${tabOf(endpoint)}`,
        viewAs: null,
      })),
  );
}

async function callbacks(
  viewAs: PartnerName | null,
  text: string,
  signal: AbortSignal,
): Promise<Found[]> {
  if (!may('callbacks:read')) return [];
  const any = async (name: 'rewardId' | 'panelistId') => {
    const query = { [name]: text, partnerId: viewAs?.PartnerId, limit: 1, bodies: false };
    return (await get<List<Callback>>('/api/v1/callbacks', query, signal)).Items.length > 0;
  };
  const [reward, panelist] = await Promise.all([any('rewardId'), any('panelistId')]);
  const log = `/callbacks?panelistId=${encodeURIComponent(text)}`;
  return [
    ...(reward
      ? [{ kind: 'Callback' as const, title: text, href: callbackPage(text), viewAs }]
      : []),
    ...(panelist ? [{ kind: 'Panelist' as const, title: text, href: log, viewAs }] : []),
  ];
}

async function findInAll(text: string, signal: AbortSignal): Promise<Answer> {
  const all = await everyItem<Partner>('/api/v1/partners', {}, signal);
  const found: Found[] = [];
  const searched = all.slice(0, partnersMost);
  for (let i = 0; i < searched.length && found.length < foundMost; i += partnersAtOnce) {
    const some = searched
      .slice(i, i + partnersAtOnce)
      .flatMap(partner => [
        callbacks(partner, text, signal),
        endpoints(
          partner.PartnerId,
          app => path`/partners/${partner.PartnerId}/apps/${app}`,
          text,
          signal,
        ),
      ]);
    found.push(...(await Promise.all(some)).flat());
  }
  return { found, left: all.length - searched.length };
}

export async function find(text: string, signal: AbortSignal): Promise<Answer> {
  if (me.value?.Side === 'operator') return findInAll(text, signal);
  const pageOf = (app: string) => path`/apps/${app}`;
  const parts = [callbacks(null, text, signal), endpoints(partnerId(), pageOf, text, signal)];
  return { found: (await Promise.all(parts)).flat(), left: 0 };
}
