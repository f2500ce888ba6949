// What a receiver needs: the addresses callbacks come from, and the check in six languages with
// the app's own values in it.
import { useState } from 'preact/hooks';
import { everyItem, useRead, useResource } from '../../app/resource';
import { may, partnerId } from '../../app/session';
import { get, path } from '../../lib/http';
import type { App } from '../../lib/types';
import {
  Button,
  Card,
  Choices,
  Code,
  Loading,
  Notice,
  PageHead,
  ProblemNotice,
} from '../../ui/basics';
import { SelectField, useSending } from '../../ui/forms';
import type { Secret } from '../apps/secret';
import { snippets, withSecret, type Language } from './snippets';

interface Description {
  'x-egress-addresses'?: string[];
}

function EgressCard() {
  const { data, problem, reload } = useResource<Description>('/openapi.json');
  const addresses = data?.['x-egress-addresses'] ?? [];
  return (
    <Card
      title="Where callbacks come from"
      text="Allow these addresses where a firewall stands in front of your receiver."
    >
      <ProblemNotice problem={problem} retry={reload} />
      {!data && !problem && <Loading />}
      {data &&
        (addresses.length ? (
          <Code title="Egress addresses" text={addresses.join('\n')} />
        ) : (
          <Notice title="No fixed address">
            The addresses that callbacks come from are not fixed. Do not filter by address: verify
            the signature, which is the stronger check.
          </Notice>
        ))}
    </Card>
  );
}

function SnippetCard({ apps }: { apps: App[] }) {
  const [language, setLanguage] = useState<Language>('Node.js');
  const [appId, setAppId] = useState(apps[0]?.AppId ?? '');
  const [read, setRead] = useState<{ appId: string; secret: string } | null>(null);
  const sending = useSending();
  const fill = () =>
    sending.run(async () => {
      const { CallbackSecret } = await get<Secret>(path`/api/v1/apps/${appId}/secret`);
      setRead({ appId, secret: CallbackSecret });
    });
  // Another app may have been chosen while it was read.
  const secret = read?.appId === appId ? read.secret : null;
  const app = apps.find(one => one.AppId === appId);
  return (
    <Card
      title="Verify a callback"
      text="Complete and tested. Read the raw body, check the signature over it, credit once per RewardId, answer 200 quickly."
    >
      <div class="row">
        <Choices
          label="Language"
          value={language}
          items={snippets.map(({ name }) => ({ value: name, title: name }))}
          onChange={setLanguage}
        />
      </div>
      {apps.length > 0 && (
        <div class="row">
          {apps.length > 1 && (
            <SelectField
              label="With the values of"
              value={appId}
              items={apps.map(one => ({ value: one.AppId, title: one.Name || one.AppId }))}
              onChange={id => {
                setAppId(id);
                setRead(null);
              }}
            />
          )}
          {may('apps:write') &&
            (secret ? (
              <Button size="small" onClick={() => setRead(null)}>
                Hide the secret
              </Button>
            ) : (
              <Button size="small" busy={sending.busy} onClick={fill}>
                Fill in the secret
              </Button>
            ))}
        </div>
      )}
      <ProblemNotice problem={sending.problem} />
      <Code
        title={`${language}${app ? `, ${app.Name || app.AppId}` : ''}`}
        text={withSecret(snippets.find(one => one.name === language)!.text, secret)}
        lines
      />
    </Card>
  );
}

export function DocsPage() {
  const {
    data: apps,
    problem,
    reload,
  } = useRead(may('apps:read') ? `apps ${partnerId()}` : null, signal =>
    everyItem<App>(path`/api/v1/partners/${partnerId()}/apps`, {}, signal),
  );
  return (
    <div class="page">
      <PageHead
        title="Docs"
        text={
          <>
            For whoever writes your receiver. Every page here uses only the{' '}
            <a href="/openapi.json">HTTP interface</a>, so a script can do all of it too.
          </>
        }
      />
      <EgressCard />
      <ProblemNotice problem={problem} retry={reload} />
      {apps ? <SnippetCard apps={apps} /> : !problem && <Loading />}
    </div>
  );
}
