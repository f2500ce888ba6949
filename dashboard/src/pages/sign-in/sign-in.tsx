// Signing in: e-mail address and password, then the second factor where there is one.
import { useState } from 'preact/hooks';
import { expired, session, takeSession } from '../../app/session';
import { Problem, request } from '../../lib/http';
import type { Session } from '../../lib/types';
import { Button, Card, Notice, PageHead, ProblemNotice } from '../../ui/basics';
import { Form, TextField, useSending } from '../../ui/forms';
import { Mark } from '../../ui/icons';

function SetUpHint() {
  return (
    <Notice title="No users yet">
      The first administrator is made with a one-time link, which stands in the terminal where
      postbackd was started. Without a terminal, run{' '}
      <code>postbackd user add EMAIL --role admin</code> on that machine: it prints the link.
    </Notice>
  );
}

export function SignInPage() {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [needsCode, setNeedsCode] = useState(false);
  const sending = useSending();
  const setUpNeeded = session.value?.SignedIn === false && session.value.SetUpNeeded;

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
    <main class="centre">
      <div class="row">
        <Mark />
        <strong>postbackd</strong>
      </div>
      <PageHead title={needsCode ? 'Second factor' : 'Sign in'} />
      {setUpNeeded && <SetUpHint />}
      {expired.value && !sending.problem && (
        <Notice title="Your session has ended">
          Sign in again; you come back to the same page.
        </Notice>
      )}
      <Card>
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
                        : 'E-mail or password is wrong. Both are case-sensitive; a forgotten password is reset by an owner of your account, who can make you a new link.',
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
        </Form>
      </Card>
    </main>
  );
}
