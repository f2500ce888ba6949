// Passkeys: added with the password, listed, removed.
import { useState } from 'preact/hooks';
import { useList } from '../../app/resource';
import { me, takeSession } from '../../app/session';
import { path, post, request } from '../../lib/http';
import type { Session } from '../../lib/types';
import { Button, Card, ProblemNotice, Time } from '../../ui/basics';
import { TextField, useSending } from '../../ui/forms';
import { FormDialog, say } from '../../ui/overlay';
import { Table } from '../../ui/table';
import { askDevice } from '../sign-in/passkey';
import { OwnCode, OwnPassword } from './proof';

interface Passkey {
  PasskeyId: string;
  Name: string;
  CreatedAt: string;
  LastUsedAt: string | null;
}

const mine = '/api/v1/session/passkeys';

function AddDialog({ onAdded, onClose }: { onAdded: () => void; onClose: () => void }) {
  const [Name, setName] = useState('');
  const [Password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const sending = useSending();
  const add = async () => {
    const options = await post<PublicKeyCredentialCreationOptionsJSON>(`${mine}/options`, {
      Password,
      Code: code.trim() || undefined,
    });
    const Credential = await askDevice(() =>
      navigator.credentials.create({
        publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
      }),
    );
    takeSession((await post<{ Session: Session }>(mine, { Name, Credential })).Session);
    say('Passkey added.');
    onAdded();
  };
  return (
    <FormDialog
      title="Add a passkey"
      action="Continue"
      sending={sending}
      fields={['Name', 'Password', 'Code']}
      disabled={!Name || !Password}
      onClose={onClose}
      onSend={add}
    >
      <TextField
        label="Name"
        hint="Such as the device that keeps it."
        value={Name}
        onChange={setName}
        fault={sending.fault('Name')}
      />
      <OwnPassword value={Password} onChange={setPassword} sending={sending} />
      {me.value!.User.SecondFactor && <OwnCode value={code} onChange={setCode} sending={sending} />}
    </FormDialog>
  );
}

export function PasskeysCard() {
  const list = useList<Passkey>(mine);
  const [adding, setAdding] = useState(false);
  const sending = useSending();
  const removeOne = (key: Passkey) =>
    sending.run(async () => {
      takeSession((await request<Session>('DELETE', mine + path`/${key.PasskeyId}`)).data);
      list.reload();
      say('Passkey removed. All other sessions ended.');
    });
  return (
    <Card
      title="Passkeys"
      text="Sign in by your fingerprint, face or PIN, without password and code."
      actions={<Button onClick={() => setAdding(true)}>Add a passkey</Button>}
      flush
    >
      <ProblemNotice problem={list.problem ?? sending.problem} retry={list.reload} />
      {!!list.data?.length && (
        <Table
          label="Passkeys"
          rows={list.data}
          rowKey={key => key.PasskeyId}
          columns={[
            { title: 'Name', cell: key => key.Name },
            { title: 'Added', cell: key => <Time at={key.CreatedAt} short /> },
            { title: 'Last used', cell: key => <Time at={key.LastUsedAt} short ago /> },
            {
              title: '',
              tight: true,
              cell: key => (
                <Button
                  size="small"
                  disabled={sending.busy}
                  aria-label={`Remove ${key.Name}`}
                  onClick={() => void removeOne(key)}
                >
                  Remove
                </Button>
              ),
            },
          ]}
        />
      )}
      {adding && (
        <AddDialog
          onClose={() => setAdding(false)}
          onAdded={() => {
            setAdding(false);
            list.reload();
          }}
        />
      )}
    </Card>
  );
}
