// Signing in: e-mail address and password, then the second factor where there is one.
import { useEffect, useState } from 'preact/hooks';
import { session, takeSession } from '../../app/session';
import { get, Problem, request } from '../../lib/http';
import type { Session } from '../../lib/types';
import { Button, Card, Loading, Notice, PageHead, ProblemNotice } from '../../ui/basics';
import { Form, TextField, useSending } from '../../ui/forms';
import { Mark } from '../../ui/icons';
import { Dialog } from '../../ui/overlay';
import { Forgotten } from './forgotten';
import { PasskeyButton } from './passkey';
import { ProviderLinks, ProviderProblem, useSignInWays } from './providers';

function SetUpHint() {
  return (
    <Notice title="No users yet">
      Create the first administrator with the one-time link that postbackd printed in its terminal.
      Without a terminal, run <code>postbackd user add EMAIL --role admin</code> on that machine to
      get the link.
    </Notice>
  );
}

interface Step {
  needsCode: boolean;
  setNeedsCode: (needs: boolean) => void;
}

/** apart: what is on the page must stay. */
function SignInWays({ apart, ...step }: Step & { apart?: boolean }) {
  const ways = useSignInWays();
  if (!ways) return <Loading />;
  return (
    <div class="stack">
      {ways.Passwords && <SignInForm {...step} />}
      {ways.Passwords && !step.needsCode && window.PublicKeyCredential && <PasskeyButton />}
      {!step.needsCode && <ProviderLinks ways={ways} apart={apart} />}
    </div>
  );
}

function SignInForm({ needsCode, setNeedsCode }: Step) {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const sending = useSending();

  const send = () =>
    sending.run(async () => {
      try {
        const body = {
          Email: email.trim(),
          Password: password,
          Code: needsCode ? code.trim() : undefined,
        };
        takeSession((await request<Session>('POST', '/api/v1/session', { body })).data);
      } catch (error) {
        if (error instanceof Problem && error.has('required', 'Code') && !needsCode) {
          setNeedsCode(true);
          return;
        }
        throw error;
      }
    });

  return (
    <Form onSend={send} label="Sign in">
      {!needsCode && (
        <>
          <TextField
            label="E-mail"
            type="email"
            autocomplete="username"
            required
            value={email}
            onChange={setEmail}
          />
          <TextField
            label="Password"
            type="password"
            autocomplete="current-password"
            required
            value={password}
            onChange={setPassword}
          />
        </>
      )}
      {needsCode && (
        <TextField
          key="code"
          label="Code"
          hint="Six digits from your authenticator app, or one of your recovery codes."
          autocomplete="one-time-code"
          inputMode="numeric"
          autofocus
          required
          mono
          value={code}
          onChange={setCode}
        />
      )}
      {sending.problem && (
        <ProblemNotice
          problem={
            sending.problem.status === 401
              ? new Problem(
                  -1,
                  '',
                  needsCode
                    ? 'This code is wrong or has been used. Wait for the next one and try again.'
                    : 'E-mail or password is wrong. The password is case-sensitive.',
                )
              : sending.problem
          }
        />
      )}
      <Button type="submit" kind="primary" busy={sending.busy}>
        {needsCode ? 'Continue' : 'Sign in'}
      </Button>
      {needsCode && (
        <Button kind="plain" onClick={() => setNeedsCode(false)}>
          Back
        </Button>
      )}
      {!needsCode && <Forgotten email={email.trim()} />}
    </Form>
  );
}

export function SignInPage() {
  const [needsCode, setNeedsCode] = useState(false);
  const setUpNeeded = session.value?.SignedIn === false && session.value.SetUpNeeded;
  return (
    <main class="centre">
      <div class="row">
        <Mark />
        <strong>postbackd</strong>
      </div>
      <PageHead title={needsCode ? 'Second factor' : 'Sign in'} />
      {setUpNeeded && <SetUpHint />}
      <ProviderProblem title="You are not signed in" />
      <Card>
        <SignInWays needsCode={needsCode} setNeedsCode={setNeedsCode} />
      </Card>
    </main>
  );
}

/** Over a page whose session has ended: what was typed into it is there afterwards. */
export function SignInAgain() {
  const [needsCode, setNeedsCode] = useState(false);
  // Somebody comes back from a provider, which was in another tab.
  useEffect(() => {
    const look = () =>
      get<Session>('/api/v1/session').then(
        given => given.SignedIn && takeSession(given),
        () => {},
      );
    addEventListener('focus', look);
    return () => removeEventListener('focus', look);
  }, []);
  return (
    <Dialog title={needsCode ? 'Second factor' : 'Sign in'} covers>
      <Notice title="Your session has ended">
        Sign in again. The page and what you typed are kept.
      </Notice>
      <SignInWays needsCode={needsCode} setNeedsCode={setNeedsCode} apart />
    </Dialog>
  );
}
