// The second factor: an authenticator app, and recovery codes for the day the phone is lost.
import { useState } from 'preact/hooks';
import { loadSession, me, takeSession } from '../../app/session';
import { post } from '../../lib/http';
import type { Session } from '../../lib/types';
import { Badge, Button, Card, Code, Notice, ProblemNotice } from '../../ui/basics';
import { Form, TextField, useSending } from '../../ui/forms';
import { QrCode } from '../../ui/qr-code';
import { Dialog, say, ShownOnce } from '../../ui/overlay';
import { OwnPassword, ProofDialog } from './proof';

interface Begun {
  Secret: string;
  OtpauthUri: string;
}

function RecoveryCodes({ codes, onClose }: { codes: string[]; onClose: () => void }) {
  return (
    <ShownOnce title="Your recovery codes" action="I have saved them" onClose={onClose}>
      <Notice tone="warn" title="Save them now">
        Each works once instead of a code from your app. You will not see them again.
      </Notice>
      <Code title="Recovery codes" text={codes.join('\n')} />
    </ShownOnce>
  );
}

function PasswordStep({
  onBegun,
  onClose,
}: {
  onBegun: (begun: Begun) => void;
  onClose: () => void;
}) {
  const [password, setPassword] = useState('');
  const sending = useSending();
  const send = () =>
    sending.run(async () =>
      onBegun(await post<Begun>('/api/v1/session/second-factor', { Password: password })),
    );
  return (
    <Form onSend={send} label="Confirm your password">
      <OwnPassword autofocus value={password} onChange={setPassword} sending={sending} />
      <ProblemNotice problem={sending.others('Password')} />
      <div class="row end">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" busy={sending.busy}>
          Continue
        </Button>
      </div>
    </Form>
  );
}

function ConfirmStep({
  begun,
  onDone,
  onClose,
}: {
  begun: Begun;
  onDone: (codes: string[]) => void;
  onClose: () => void;
}) {
  const [code, setCode] = useState('');
  const sending = useSending();
  const send = () =>
    sending.run(async () => {
      const answer = await post<{ RecoveryCodes: string[]; Session: Session }>(
        '/api/v1/session/second-factor/confirm',
        { Code: code.trim() },
      );
      takeSession(answer.Session);
      onDone(answer.RecoveryCodes);
    });
  const spaced = begun.Secret.replace(/(.{4})(?=.)/g, '$1 ');
  return (
    <Form onSend={send} label="Confirm the second factor">
      <p>
        Scan this with your authenticator app, or{' '}
        <a href={begun.OtpauthUri}>open it in an app on this device</a>. Without a camera, add an
        account with the key below (time-based, 6 digits).
      </p>
      <QrCode text={begun.OtpauthUri} label="QR code of the key" />
      <Code title="Key" text={spaced} />
      <TextField
        label="Code"
        hint="The six digits that the app shows now."
        autocomplete="one-time-code"
        inputMode="numeric"
        mono
        value={code}
        onChange={setCode}
        fault={sending.fault('Code')}
      />
      <ProblemNotice problem={sending.others('Code')} />
      <div class="row end">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" kind="primary" busy={sending.busy}>
          Turn on
        </Button>
      </div>
    </Form>
  );
}

export function SecondFactorCard() {
  const on = me.value!.User.SecondFactor;
  const [open, setOpen] = useState<'' | 'begin' | 'remove' | 'renew'>('');
  const [begun, setBegun] = useState<Begun | null>(null);
  const [codes, setCodes] = useState<string[] | null>(null);
  const close = () => {
    setOpen('');
    setBegun(null);
  };
  return (
    <Card
      title="Second factor"
      text="A code from an app on your phone, asked for after your password."
      actions={on ? <Badge tone="good">on</Badge> : <Badge tone="warn">off</Badge>}
    >
      <div class="row">
        {on ? (
          <>
            <Button onClick={() => setOpen('renew')}>New recovery codes</Button>
            <Button kind="danger" onClick={() => setOpen('remove')}>
              Switch off
            </Button>
          </>
        ) : (
          <Button kind="primary" onClick={() => setOpen('begin')}>
            Switch on
          </Button>
        )}
      </div>
      {open === 'begin' && (
        <Dialog title="Turn on the second factor" onClose={close}>
          {begun ? (
            <ConfirmStep
              begun={begun}
              onClose={close}
              onDone={given => {
                close();
                setCodes(given);
              }}
            />
          ) : (
            <PasswordStep onBegun={setBegun} onClose={close} />
          )}
        </Dialog>
      )}
      {open === 'remove' && (
        <ProofDialog
          title="Turn off the second factor?"
          text="Your password alone will then be enough to sign in."
          action="Switch off"
          onClose={close}
          onDo={async body => {
            takeSession(await post<Session>('/api/v1/session/second-factor/remove', body));
            close();
            say('The second factor is off.');
          }}
        />
      )}
      {open === 'renew' && (
        <ProofDialog
          title="New recovery codes"
          text="The old codes stop working immediately."
          action="Create new codes"
          onClose={close}
          onDo={async body => {
            const answer = await post<{ RecoveryCodes: string[] }>(
              '/api/v1/session/second-factor/recovery-codes',
              body,
            );
            close();
            setCodes(answer.RecoveryCodes);
          }}
        />
      )}
      {codes && (
        <RecoveryCodes
          codes={codes}
          onClose={() => {
            setCodes(null);
            void loadSession();
          }}
        />
      )}
    </Card>
  );
}
