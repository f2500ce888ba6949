// What the search field leads to: a callback by its EventId (which is its RewardId), a panelist's
// callbacks, or an endpoint by its URL; for an operator partners, apps and clients by their ids, too.
import { path, get } from '../lib/http';
import type { App, Callback, Endpoint, List, Partner, PartnerName } from '../lib/types';
import { callbackPage } from '../pages/callbacks/paths';
import { tabOf } from '../ui/health';
import { everyItem } from './resource';
import { may, me, partnerId } from './session';

export interface Found {
  kind: 'Callback' | 'Panelist' | 'Endpoint' | 'Partner' | 'App' | 'Client';
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
  ['test', app.TestCallbackUrl],
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

const callbackFound = (id: string, viewAs: PartnerName | null): Found => ({
  kind: 'Callback',
  title: id,
  href: callbackPage(id),
  viewAs,
});

const panelistFound = (id: string, viewAs: PartnerName | null): Found => ({
  kind: 'Panelist',
  title: id,
  href: `/callbacks?panelistId=${encodeURIComponent(id)}`,
  viewAs,
});

async function callbacks(text: string, signal: AbortSignal): Promise<Found[]> {
  if (!may('callbacks:read')) return [];
  const any = async (name: 'rewardId' | 'panelistId') => {
    const query = { [name]: text, limit: 1, bodies: false };
    return (await get<List<Callback>>('/api/v1/callbacks', query, signal)).Items.length > 0;
  };
  const [reward, panelist] = await Promise.all([any('rewardId'), any('panelistId')]);
  return [
    ...(reward ? [callbackFound(text, null)] : []),
    ...(panelist ? [panelistFound(text, null)] : []),
  ];
}

interface FoundId {
  Kind: 'partner' | 'app' | 'client' | 'user' | 'callback' | 'panelist';
  PartnerId: string | null;
  Id: string;
}

/** Null: it has no page of its own. */
async function pageOfId({ Kind, PartnerId, Id }: FoundId, signal: AbortSignal) {
  if (!PartnerId || Kind === 'user') return null;
  const partner = path`/partners/${PartnerId}`;
  const own = (kind: Found['kind'], href: string) => ({ kind, title: Id, href, viewAs: null });
  if (Kind === 'partner') return own('Partner', partner);
  if (Kind === 'app') return own('App', partner + path`/apps/${Id}`);
  if (Kind === 'client') return own('Client', partner);
  const viewAs = await get<Partner>(path`/api/v1/partners/${PartnerId}`, {}, signal);
  return Kind === 'callback' ? callbackFound(Id, viewAs) : panelistFound(Id, viewAs);
}

async function idsInAll(text: string, signal: AbortSignal): Promise<Found[]> {
  if (!may('callbacks:read')) return [];
  const found: Found[] = [];
  let after: string | null = null;
  do {
    const page: List<FoundId> = await get('/api/v1/search', { text, after }, signal);
    for (const one of page.Items) {
      const its = await pageOfId(one, signal);
      if (its) found.push(its);
    }
    after = page.Next;
  } while (after !== null && found.length < foundMost);
  return found;
}

/** The first partners only: there is no index of URLs. */
async function endpointsInAll(text: string, signal: AbortSignal): Promise<Answer> {
  if (!isLikeUrl(text)) return { found: [], left: 0 };
  const all = await everyItem<Partner>('/api/v1/partners', {}, signal);
  const found: Found[] = [];
  const searched = all.slice(0, partnersMost);
  for (let i = 0; i < searched.length && found.length < foundMost; i += partnersAtOnce) {
    const some = searched
      .slice(i, i + partnersAtOnce)
      .map(({ PartnerId }) =>
        endpoints(PartnerId, app => path`/partners/${PartnerId}/apps/${app}`, text, signal),
      );
    found.push(...(await Promise.all(some)).flat());
  }
  return { found, left: all.length - searched.length };
}

async function findInAll(text: string, signal: AbortSignal): Promise<Answer> {
  const [ids, urls] = await Promise.all([idsInAll(text, signal), endpointsInAll(text, signal)]);
  return { found: [...ids, ...urls.found], left: urls.left };
}

export async function find(text: string, signal: AbortSignal): Promise<Answer> {
  if (me.value?.Side === 'operator') return findInAll(text, signal);
  const pageOf = (app: string) => path`/apps/${app}`;
  const parts = [callbacks(text, signal), endpoints(partnerId(), pageOf, text, signal)];
  return { found: (await Promise.all(parts)).flat(), left: 0 };
}
