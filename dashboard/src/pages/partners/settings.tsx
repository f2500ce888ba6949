// A partner's own settings: its name, whether it is on, and where it is told about its endpoints.
import { useState } from 'preact/hooks';
import { may } from '../../app/session';
import { path, request } from '../../lib/http';
import type { Partner } from '../../lib/types';
import { Button, Card, ProblemNotice } from '../../ui/basics';
import { Form, TextField, useSending } from '../../ui/forms';
import { Confirm, say } from '../../ui/overlay';

interface Props {
  partner: Partner;
  etag: string | null;
  reload: () => void;
}

function EnabledCard({ partner, etag, reload }: Props) {
  const [asking, setAsking] = useState(false);
  const on = !partner.Enabled;
  const what = on ? 'Switch the account on' : 'Switch the account off';
  return (
    <Card
      title={partner.Enabled ? 'The account is on' : 'The account is off'}
      text={
        partner.Enabled
          ? 'Events of its clients are taken.'
          : 'Events of its clients are refused as disabled. What is waiting goes on being sent.'
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
            const to = path`/api/v1/partners/${partner.PartnerId}`;
            await request('PATCH', to, { body: { Enabled: on }, ifMatch: etag });
            say(on ? 'The account is on.' : 'The account is off.');
            reload();
          }}
        >
          {on
            ? `Events of ${partner.Name || partner.PartnerId} are taken again from now on.`
            : `Every event of ${partner.Name || partner.PartnerId} is refused from now on; what was refused does not come back by itself.`}
        </Confirm>
      )}
    </Card>
  );
}

export function PartnerSettings(props: Props) {
  const { partner, etag, reload } = props;
  const [name, setName] = useState(partner.Name);
  const [url, setUrl] = useState(partner.OperationsUrl ?? '');
  const sending = useSending();
  const writable = may('apps:write');
  const changed = name !== partner.Name || url.trim() !== (partner.OperationsUrl ?? '');
  const send = () =>
    sending.run(async () => {
      const body: Record<string, string | null> = {};
      if (name !== partner.Name) body['Name'] = name.trim();
      if (url.trim() !== (partner.OperationsUrl ?? '')) body['OperationsUrl'] = url.trim() || null;
      const to = path`/api/v1/partners/${partner.PartnerId}`;
      await request('PATCH', to, { body, ifMatch: etag });
      say('Saved.');
      reload();
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
            hint="Where the partner is told when an endpoint stops working and when it works again. Empty: nobody is told."
            value={url}
            onChange={setUrl}
            fault={sending.fault('OperationsUrl')}
            disabled={!writable}
          />
          <ProblemNotice problem={sending.others('Name', 'OperationsUrl')} />
          {writable && (
            <div class="row end">
              <Button type="submit" kind="primary" busy={sending.busy} disabled={!changed}>
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
