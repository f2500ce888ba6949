// Signing in with a passkey: the browser asks the device.
import { takeSession } from '../../app/session';
import { post, Problem } from '../../lib/http';
import type { Session } from '../../lib/types';
import { Button, ProblemNotice } from '../../ui/basics';
import { useSending } from '../../ui/forms';

/** What the device says, as the server takes it. */
export async function askDevice(ask: () => Promise<Credential | null>): Promise<unknown> {
  try {
    return ((await ask()) as PublicKeyCredential).toJSON();
  } catch {
    throw new Problem(
      -1,
      '',
      'Your device gave no passkey. It may have none for this page, or one already.',
    );
  }
}

export function PasskeyButton() {
  const sending = useSending();
  const signIn = () =>
    sending.run(async () => {
      const options = await post<PublicKeyCredentialRequestOptionsJSON>(
        '/api/v1/sign-in/passkey/options',
      );
      const Credential = await askDevice(() =>
        navigator.credentials.get({
          publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
        }),
      );
      takeSession(await post<Session>('/api/v1/sign-in/passkey', { Credential }));
    });
  return (
    <>
      <Button busy={sending.busy} onClick={signIn}>
        Sign in with a passkey
      </Button>
      <ProblemNotice problem={sending.problem && new Problem(-1, '', sending.problem.message)} />
    </>
  );
}
