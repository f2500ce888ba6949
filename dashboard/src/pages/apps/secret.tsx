// The Callback Secret: hidden until it is shown on purpose, and rotation without a gap.
import { useState } from 'preact/hooks';
import { may, me } from '../../app/session';
import { get, path, post } from '../../lib/http';
import { Button, Card, Notice, ProblemNotice, Time } from '../../ui/basics';
import { SelectField, TextField, useSending } from '../../ui/forms';
import { Dialog, say } from '../../ui/overlay';
import { HiddenSecret } from '../../ui/secret';
import type { TabProps } from './loaded';

/** Only operators take a secret that a publisher has already: one that is weak is theirs to judge. */
export const takesSecrets = () => me.value?.Side === 'operator';

export function OwnSecretField(props: {
  value: string;
  onChange: (value: string) => void;
  fault: string | undefined;
}) {
  return (
    <TextField
      label="Secret"
      mono
      hint="One that the receiver has already: 8 to 256 visible characters. Empty: a new one is created."
      {...props}
    />
  );
}

export interface Secret {
  CallbackSecret: string;
  OlderSecretUntil: string | null;
  SigUsesOlder: boolean;
}

function RotateDialog({
  app,
  onClose,
  onDone,
}: {
  app: string;
  onClose: () => void;
  onDone: (secret: Secret) => void;
}) {
  const [hours, setHours] = useState('24');
  const [own, setOwn] = useState('');
  const [sigSwitch, setSigSwitch] = useState<'now' | 'end'>('end');
  const sending = useSending();
  const rotate = () =>
    sending.run(async () => {
      const seconds = Math.round(Number(hours.replace(',', '.')) * 3600);
      const body = {
        OverlapSeconds: Number.isFinite(seconds) ? seconds : hours,
        SigSwitch: sigSwitch,
        CallbackSecret: own || undefined,
      };
      onDone(await post<Secret>(path`/api/v1/apps/${app}/secret/rotate`, body));
      say('Secret rotated.');
      onClose();
    });
  return (
    <Dialog title="Rotate the secret" onClose={onClose}>
      <ol class="stack-small">
        <li>Rotate: a new secret is created, and the old one stays valid during the overlap.</li>
        <li>Add the new secret to your receiver and accept both.</li>
        <li>After the overlap, remove the old secret.</li>
      </ol>
      {takesSecrets() && (
        <OwnSecretField value={own} onChange={setOwn} fault={sending.fault('CallbackSecret')} />
      )}
      <TextField
        label="Overlap"
        unit="hours"
        inputMode="decimal"
        hint="Until then webhook-signature has one signature per secret. At most 720."
        value={hours}
        onChange={setHours}
        fault={sending.fault('OverlapSeconds')}
      />
      <SelectField
        label="Use the new secret for Sig"
        value={sigSwitch}
        onChange={setSigSwitch}
        items={[
          { value: 'end', title: 'After the overlap' },
          { value: 'now', title: 'Immediately' },
        ]}
        hint="Sig is a single signature. Choose “Immediately” if your receiver already has the new secret, or if the old one has leaked."
      />
      <ProblemNotice problem={sending.others('OverlapSeconds', 'CallbackSecret')} />
      <div class="row end">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" busy={sending.busy} onClick={rotate}>
          Rotate
        </Button>
      </div>
    </Dialog>
  );
}

export function SecretCard({ app }: TabProps) {
  const [secret, setSecret] = useState<Secret | null>(null);
  const [rotating, setRotating] = useState(false);
  const sending = useSending();
  const show = () =>
    sending.run(async () => setSecret(await get<Secret>(path`/api/v1/apps/${app.AppId}/secret`)));
  if (!may('apps:write')) {
    return (
      <Card title="Callback Secret">
        <p class="quiet">Your role cannot see secrets. Ask a developer or an owner.</p>
      </Card>
    );
  }
  return (
    <Card
      title="Callback Secret"
      text="Signs every callback of this app, for surveys and offers. Viewing it is recorded in the audit log."
      actions={
        <Button size="small" onClick={() => setRotating(true)}>
          Rotate
        </Button>
      }
    >
      <HiddenSecret
        text={secret?.CallbackSecret ?? null}
        busy={sending.busy}
        onShow={() => void show()}
        onHide={() => setSecret(null)}
      />
      {secret?.OlderSecretUntil && (
        <Notice>
          The old secret is valid until <Time at={secret.OlderSecretUntil} />.{' '}
          {secret.SigUsesOlder ? 'Until then it is used for Sig.' : 'Sig uses the new one.'}
        </Notice>
      )}
      <ProblemNotice problem={sending.problem} />
      {rotating && (
        <RotateDialog app={app.AppId} onClose={() => setRotating(false)} onDone={setSecret} />
      )}
    </Card>
  );
}
