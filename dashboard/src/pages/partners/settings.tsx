// A partner's own settings: its name, whether it is on, and where it is told about its endpoints.
import { useState } from 'preact/hooks';
import { may } from '../../app/session';
import { path, request } from '../../lib/http';
import type { Partner } from '../../lib/types';
import { Button, Card, ProblemNotice } from '../../ui/basics';
import { isolated } from '../../ui/chosen';
import { Form, TextField, useSending } from '../../ui/forms';
import { Confirm, say } from '../../ui/overlay';
import { FormatField } from '../alerts/format';
import type { Loaded } from './partner';

interface Props extends Loaded {
  /** Takes the partner as a change of it has left it. */
  take: (changed: Loaded) => void;
}

async function change({ partner, etag, take }: Props, body: Partial<Partner>): Promise<void> {
  const to = path`/api/v1/partners/${partner.PartnerId}`;
  const answer = await request<Partner>('PATCH', to, { body, ifMatch: etag });
  take({ partner: answer.data, etag: answer.etag });
}

function EnabledCard(props: Props) {
  const { partner } = props;
  const [asking, setAsking] = useState(false);
  const on = !partner.Enabled;
  const what = on ? 'Switch the account on' : 'Switch the account off';
  return (
    <Card
      title={partner.Enabled ? 'The account is on' : 'The account is off'}
      text={
        partner.Enabled
          ? 'Events of its clients are accepted.'
          : 'Events of its clients are rejected as disabled. Waiting callbacks are still sent.'
      }
      actions={
        may('admin') && (
          <Button kind={on ? 'primary' : 'danger'} onClick={() => setAsking(true)}>
            {what}
          </Button>
        )
      }
    >
      {asking && (
        <Confirm
          title={`${what}?`}
          action={on ? 'Switch on' : 'Switch off'}
          danger={!on}
          onClose={() => setAsking(false)}
          onDo={async () => {
            await change(props, { Enabled: on });
            say(on ? 'The account is on.' : 'The account is off.');
          }}
        >
          {on
            ? `Events of ${isolated(partner.Name || partner.PartnerId)} are accepted again from now on.`
            : `Every event of ${isolated(partner.Name || partner.PartnerId)} is rejected from now on. Rejected events must be reported again.`}
        </Confirm>
      )}
    </Card>
  );
}

export function PartnerSettings(props: Props) {
  const { partner } = props;
  const [name, setName] = useState(partner.Name);
  const [url, setUrl] = useState(partner.OperationsUrl ?? '');
  const [format, setFormat] = useState(partner.OperationsFormat ?? 'standard');
  const sending = useSending();
  const writable = may('apps:write');
  const body: Partial<Partner> = {};
  if (name.trim() !== partner.Name) body.Name = name.trim();
  if (url.trim() !== (partner.OperationsUrl ?? '')) body.OperationsUrl = url.trim() || null;
  if (format !== (partner.OperationsFormat ?? 'standard')) body.OperationsFormat = format;
  const send = () =>
    sending.run(async () => {
      await change(props, body);
      say('Saved.');
    });
  return (
    <>
      <Card title="Account">
        <Form onSend={send} label="Account">
          <TextField
            label="Name"
            value={name}
            onChange={setName}
            fault={sending.fault('Name')}
            disabled={!writable}
          />
          <TextField
            label="OperationsUrl"
            type="url"
            mono
            placeholder="https://partner.example/postbackd/operations"
            hint="Receives a message when an endpoint stops working and when it works again. Empty: no messages."
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
          <ProblemNotice problem={sending.others('Name', 'OperationsUrl', 'OperationsFormat')} />
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
      <EnabledCard {...props} />
    </>
  );
}
