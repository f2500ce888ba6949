// The certificate that the app shows to receivers that ask who calls.
import { useState } from 'preact/hooks';
import { may } from '../../app/session';
import { Button, Card, Facts, Time } from '../../ui/basics';
import { AreaField, useSending } from '../../ui/forms';
import { Confirm, FormDialog, say } from '../../ui/overlay';
import { changeApp, type TabProps } from './loaded';

function SetDialog(props: TabProps & { onClose: () => void }) {
  const [certificate, setCertificate] = useState('');
  const [key, setKey] = useState('');
  const sending = useSending();
  const send = async () => {
    await changeApp(props, { ClientCertificate: { Certificate: certificate, PrivateKey: key } });
    say('Certificate saved.');
    props.onClose();
  };
  return (
    <FormDialog
      title="Client certificate"
      label="Certificate and key"
      action="Save certificate"
      sending={sending}
      fields={['Certificate', 'PrivateKey']}
      onClose={props.onClose}
      onSend={send}
    >
      <AreaField
        label="Certificate"
        hint="PEM, followed by its chain."
        value={certificate}
        onChange={setCertificate}
        fault={sending.fault('Certificate')}
      />
      <AreaField
        label="Private key"
        hint="PEM without a password. It is stored encrypted and never shown again."
        value={key}
        onChange={setKey}
        fault={sending.fault('PrivateKey')}
      />
    </FormDialog>
  );
}

export function CertificateCard(props: TabProps) {
  const [open, setOpen] = useState<'' | 'set' | 'remove'>('');
  const certificate = props.app.ClientCertificate;
  const writable = may('apps:write');
  return (
    <Card
      title="Client certificate"
      text="For receivers that require mutual TLS. Used for this app’s https URLs only."
      actions={
        writable && (
          <>
            <Button size="small" onClick={() => setOpen('set')}>
              {certificate ? 'Replace' : 'Add'}
            </Button>
            {certificate && (
              <Button size="small" kind="danger" onClick={() => setOpen('remove')}>
                Remove
              </Button>
            )}
          </>
        )
      }
    >
      {certificate ? (
        <Facts
          items={[
            ['Subject', certificate.Subject],
            ['SHA-256', <code>{certificate.Sha256}</code>],
            ['Expires', <Time at={certificate.NotAfter} />],
          ]}
        />
      ) : (
        <p class="quiet">None. Callbacks are sent without a certificate.</p>
      )}
      {open === 'set' && <SetDialog {...props} onClose={() => setOpen('')} />}
      {open === 'remove' && (
        <Confirm
          title="Remove the client certificate?"
          action="Remove"
          danger
          onClose={() => setOpen('')}
          onDo={async () => {
            await changeApp(props, { ClientCertificate: null });
            say('Certificate removed.');
          }}
        >
          Receivers that require one will reject the next callback.
        </Confirm>
      )}
    </Card>
  );
}
