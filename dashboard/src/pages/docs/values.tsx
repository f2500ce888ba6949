// What of the partner's own stands in the pages: names, addresses and where secrets are shown. A
// secret itself is never read for them.
import { signal } from '../../lib/signal';
import { everyItem, useRead } from '../../app/resource';
import { may, partnerId } from '../../app/session';
import { get, path } from '../../lib/http';
import type { App, Key, List, Partner } from '../../lib/types';
import { Facts, Loading, ProblemNotice } from '../../ui/basics';
import { isolated } from '../../ui/chosen';
import { SelectField } from '../../ui/forms';

export interface Own {
  apps: App[];
  partner: Partner | null;
  /** Null: somebody who may not list them. */
  keys: Key[] | null;
}

const chosen = signal('');

export const appOf = (own: Own | null): App | null =>
  own?.apps.find(one => one.AppId === chosen.value) ?? own?.apps[0] ?? null;

async function readOwn(signal: AbortSignal): Promise<Own> {
  const account = path`/api/v1/partners/${partnerId()}`;
  const [apps, partner, keys] = await Promise.all([
    may('apps:read') ? everyItem<App>(`${account}/apps`, {}, signal) : [],
    may('apps:read') ? get<Partner>(account, undefined, signal) : null,
    may('keys:write') ? get<List<Key>>(`${account}/keys`, { limit: 500 }, signal) : null,
  ]);
  return { apps, partner, keys: keys && keys.Items };
}

export const useOwn = () => useRead(`own ${partnerId()}`, readOwn);

/** The values in a command or a path. Ids have neither quotes nor blanks. */
export function fill(text: string, app: App | null): string {
  const filled = text
    .replace(/\$URL|https:\/\/HOST/g, location.origin)
    .replaceAll('{PartnerId}', partnerId());
  return app ? filled.replace(/\{AppId\}|\bapp_1\b/g, app.AppId) : filled;
}

function Keys({ keys }: { keys: Key[] | null }) {
  if (!keys) return <>One of your account’s API keys: ask an owner or a developer.</>;
  if (!keys.length)
    return (
      <>
        None yet: <a href="/keys">create one</a>.
      </>
    );
  return (
    <>
      Names: {keys.map(one => isolated(one.Name || one.KeyId)).join(', ')}. A key is shown once,
      when it is <a href="/keys">created</a>.
    </>
  );
}

function Address({ url, href }: { url: string | null; href: string }) {
  return url ? (
    <code>{url}</code>
  ) : (
    <>
      Not set: <a href={href}>set it</a>.
    </>
  );
}

function AppChoice({ apps, app }: { apps: App[]; app: App }) {
  if (apps.length < 2) return <>{app.Name || app.AppId}</>;
  return (
    <SelectField
      label="App of the examples"
      value={app.AppId}
      items={apps.map(one => ({ value: one.AppId, title: one.Name || one.AppId }))}
      onChange={id => (chosen.value = id)}
    />
  );
}

function AppValues({ app }: { app: App }) {
  const surveys = path`/apps/${app.AppId}/postback`;
  const offers = path`/apps/${app.AppId}/callback`;
  return (
    <Facts
      items={[
        ['AppId', <code>{app.AppId}</code>],
        ['Success URL', <Address url={app.SuccessCallbackUrl} href={surveys} />],
        ['Failure URL', <Address url={app.FailureCallbackUrl} href={surveys} />],
        ['Offer URL', <Address url={app.OfferCallbackUrl} href={offers} />],
        [
          'Callback Secret',
          <>
            Shown under <a href={surveys}>Callback Secret</a> of the app, never here.
          </>,
        ],
      ]}
    />
  );
}

export function OwnValues({ own }: { own: ReturnType<typeof useOwn> }) {
  const { data, problem, reload } = own;
  const app = appOf(data);
  return (
    <>
      <ProblemNotice problem={problem} retry={reload} />
      {!data && !problem && <Loading />}
      {data && (
        <Facts
          items={[
            ['URL', <code>{location.origin}</code>],
            ['KEY', <Keys keys={data.keys} />],
            ['PartnerId', <code>{partnerId()}</code>],
            ['OperationsUrl', data.partner?.OperationsUrl ?? 'Not set'],
          ]}
        />
      )}
      {data && !app && (
        <p>
          No app yet: <a href="/apps">create one</a> to see its values in the examples.
        </p>
      )}
      {data && app && (
        <>
          <AppChoice apps={data.apps} app={app} />
          <AppValues app={app} />
        </>
      )}
    </>
  );
}
