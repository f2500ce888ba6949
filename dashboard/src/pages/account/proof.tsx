// What a person shows again before the ways to sign in change.
import { TextField, type useSending } from '../../ui/forms';

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
