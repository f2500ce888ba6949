// What a person shows again before the ways to sign in change.
import { useState } from 'preact/hooks';
import { me } from '../../app/session';
import { TextField, useSending } from '../../ui/forms';
import { FormDialog } from '../../ui/overlay';

interface Proof {
  value: string;
  onChange: (value: string) => void;
  sending: ReturnType<typeof useSending>;
  autofocus?: boolean;
}

export function OwnPassword({ sending, ...field }: Proof) {
  return (
    <TextField
      label="Your password"
      type="password"
      autocomplete="current-password"
      fault={sending.fault('Password')}
      {...field}
    />
  );
}

export function OwnCode({ sending, ...field }: Proof) {
  return (
    <TextField
      label="Code"
      hint="Six digits from your app, or a recovery code."
      autocomplete="one-time-code"
      mono
      fault={sending.fault('Code')}
      {...field}
    />
  );
}

/** Password, and the code where a second factor is on. */
export function ProofDialog(props: {
  title: string;
  text: string;
  action: string;
  onDo: (proof: { Password: string; Code?: string }) => Promise<void>;
  onClose: () => void;
}) {
  const [Password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const sending = useSending();
  return (
    <FormDialog
      title={props.title}
      action={props.action}
      sending={sending}
      fields={['Password', 'Code']}
      onClose={props.onClose}
      onSend={() => props.onDo({ Password, Code: code.trim() || undefined })}
    >
      <p class="quiet">{props.text}</p>
      <OwnPassword value={Password} onChange={setPassword} sending={sending} />
      {me.value!.User.SecondFactor && <OwnCode value={code} onChange={setCode} sending={sending} />}
    </FormDialog>
  );
}
