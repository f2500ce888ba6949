// Alerts: where messages about callback URLs go, what they are signed with, and which there are.
import { useState } from 'preact/hooks';
import { useRead } from '../../app/resource';
import { may, partnerId } from '../../app/session';
import { get, path, post, request } from '../../lib/http';
import type { Partner } from '../../lib/types';
import {
  Badge,
  Button,
  Card,
  Facts,
  Loading,
  Notice,
  PageHead,
  ProblemNotice,
  Time,
} from '../../ui/basics';
import { Form, TextField, useSending } from '../../ui/forms';
import { Confirm, say } from '../../ui/overlay';
import { HiddenSecret } from '../../ui/secret';
import { HealthCard } from '../overview/health';
import { FormatField } from './format';

interface Loaded {
  partner: Partner;
  etag: string | null;
}

async function readPartner(signal?: AbortSignal): Promise<Loaded> {
  const answer = await request<Partner>('GET', path`/api/v1/partners/${partnerId()}`, { signal });
  return { partner: answer.data, etag: answer.etag };
}

function UrlCard({ partner, etag, take }: Loaded & { take: (changed: Loaded) => void }) {
  const [url, setUrl] = useState(partner.OperationsUrl ?? '');
  const [format, setFormat] = useState(partner.OperationsFormat ?? 'standard');
  const [email, setEmail] = useState(partner.OperationsEmail ?? '');
  const sending = useSending();
  const writable = may('apps:write');
  const body: Record<string, string | null> = {};
  if (url.trim() !== (partner.OperationsUrl ?? '')) body['OperationsUrl'] = url.trim() || null;
  if (format !== (partner.OperationsFormat ?? 'standard')) body['OperationsFormat'] = format;
  if (email.trim() !== (partner.OperationsEmail ?? ''))
    body['OperationsEmail'] = email.trim() || null;
  const isOn = partner.OperationsUrl || partner.OperationsEmail;
  const save = () =>
    sending.run(async () => {
      const answer = await request<Partner>('PATCH', path`/api/v1/partners/${partnerId()}`, {
        body,
        ifMatch: etag,
      });
      take({ partner: answer.data, etag: answer.etag });
      say('Saved.');
    });
  return (
    <Card
      title="Where messages go"
      text="Callbacks are never sent there. A message that cannot be delivered is retried for 24 hours."
      actions={isOn ? <Badge tone="good">On</Badge> : <Badge tone="warn">Off</Badge>}
    >
      {!isOn && (
        <Notice tone="warn" title="Nobody is notified when a callback URL stops working">
          Set the URL of a server that receives messages, or an e-mail address.
        </Notice>
      )}
      <Form onSend={save} label="Where messages go">
        <TextField
          label="OperationsUrl"
          type="url"
          mono
          placeholder="https://your-server.example/postbackd/alerts"
          hint="A public address with TLS; it answers 2xx within 10 seconds. Empty: no messages."
          value={url}
          onChange={setUrl}
          fault={sending.fault('OperationsUrl')}
          disabled={!writable}
        />
        <FormatField
          value={format}
          onChange={setFormat}
          fault={sending.fault('OperationsFormat')}
          disabled={!writable}
        />
        <TextField
          label="E-mail"
          type="email"
          placeholder="alerts@your-company.example"
          hint="One address; use a group address to reach several people. Empty: no e-mail."
          value={email}
          onChange={setEmail}
          fault={sending.fault('OperationsEmail')}
          disabled={!writable}
        />
        <ProblemNotice
          problem={sending.others('OperationsUrl', 'OperationsFormat', 'OperationsEmail')}
        />
        {writable && (
          <div class="row end">
            <Button
              type="submit"
              kind="primary"
              busy={sending.busy}
              disabled={!Object.keys(body).length}
            >
              Save
            </Button>
          </div>
        )}
      </Form>
    </Card>
  );
}

interface OperationsSecret {
  OperationsSecret: string;
  OlderSecretUntil: string | null;
}

function SecretCard({ onRotated }: { onRotated: () => Promise<void> }) {
  const [secret, setSecret] = useState<OperationsSecret | null>(null);
  const [asking, setAsking] = useState(false);
  const sending = useSending();
  const to = path`/api/v1/partners/${partnerId()}/operations-secret`;
  if (!may('apps:write')) return null;
  return (
    <Card
      title="Signing secret"
      text="Signs messages, and nothing else. Viewing it is recorded in the audit log."
      actions={
        <Button size="small" onClick={() => setAsking(true)}>
          Rotate
        </Button>
      }
    >
      <HiddenSecret
        text={secret?.OperationsSecret ?? null}
        busy={sending.busy}
        onShow={() => void sending.run(async () => setSecret(await get(to)))}
        onHide={() => setSecret(null)}
      />
      {secret?.OlderSecretUntil && (
        <Notice>
          The old secret is valid until <Time at={secret.OlderSecretUntil} />.
        </Notice>
      )}
      <ProblemNotice problem={sending.problem} />
      {asking && (
        <Confirm
          title="Rotate the secret?"
          action="Rotate"
          onClose={() => setAsking(false)}
          onDo={async () => {
            setSecret(await post(`${to}/rotate`));
            await onRotated();
            say('Secret rotated.');
          }}
        >
          Messages are signed with both secrets for 24 hours. Add the new one to your server in that
          time.
        </Confirm>
      )}
    </Card>
  );
}

const messages: [string, string][] = [
  ['endpoint.suspended', 'A callback URL fails, or its host cannot be reached. Callbacks wait.'],
  [
    'endpoint.disabled',
    'It answered 410 to five callbacks in a row. Callbacks wait until you set the URL again or enable it.',
  ],
  ['endpoint.recovered', 'It works again. Waiting callbacks are being sent.'],
  ['endpoint.certificate_expiring', 'Your receiver’s certificate has 14 days or less left.'],
  ['endpoint.certificate_renewed', 'Your receiver’s certificate was renewed.'],
  ['app.certificate_expiring', 'An app’s client certificate has 14 days or less left.'],
  ['app.certificate_renewed', 'An app’s client certificate was renewed or removed.'],
  ['statement.ready', 'The statement of a month is final.'],
];

function MessagesCard() {
  return (
    <Card
      title="Types of messages"
      text="About a callback URL, never two in quick succession. The last one always has the current state."
    >
      <Facts items={messages} />
      <p class="small quiet">
        Signed with the three Standard Webhooks headers, like callbacks. Answer 2xx to unknown
        types: more may be added.
      </p>
    </Card>
  );
}

export function AlertsPage() {
  const { data, problem, reload, take } = useRead<Loaded>(`alerts ${partnerId()}`, readPartner);
  return (
    <div class="page">
      <PageHead
        title="Alerts"
        text="Messages when a callback URL stops working, and when it works again: to your server, and by e-mail."
      />
      <ProblemNotice problem={problem} retry={reload} />
      {!data && !problem && <Loading />}
      {data && <UrlCard {...data} take={take} />}
      {/* What a message would say now, and what may become one. */}
      <HealthCard />
      {/* The secret is the partner's, too: its ETag is another one then. */}
      <SecretCard onRotated={async () => take(await readPartner())} />
      <MessagesCard />
    </div>
  );
}
