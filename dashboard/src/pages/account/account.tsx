// My account: password, second factor, and where I am signed in.
import { useState } from 'preact/hooks';
import { useList } from '../../app/resource';
import { loadSession, me, takeSession } from '../../app/session';
import { path, post, remove } from '../../lib/http';
import type { Session, SessionEntry } from '../../lib/types';
import {
  Badge,
  Button,
  Card,
  Facts,
  Loading,
  PageHead,
  ProblemNotice,
  Time,
} from '../../ui/basics';
import { Form, TextField, useSending } from '../../ui/forms';
import { say } from '../../ui/overlay';
import { Table } from '../../ui/table';
import { IdentityCard } from './identity';
import { MailCard } from './mail';
import { PasskeysCard } from './passkeys';
import { SecondFactorCard } from './second-factor';

function PasswordCard() {
  const [password, setPassword] = useState('');
  const [next, setNext] = useState('');
  const sending = useSending();
  const send = () =>
    sending.run(async () => {
      const body = { Password: password, NewPassword: next };
      takeSession(await post<Session>('/api/v1/session/password', body));
      setPassword('');
      setNext('');
      say('Password changed. All other sessions ended.');
    });
  return (
    <Card title="Password" text="Changing it ends all your other sessions.">
      <Form onSend={send} label="Password">
        <div class="grid-2">
          <TextField
            label="Current password"
            type="password"
            autocomplete="current-password"
            value={password}
            onChange={setPassword}
            fault={sending.fault('Password')}
          />
          <TextField
            label="New password"
            type="password"
            autocomplete="new-password"
            hint="At least 12 characters."
            value={next}
            onChange={setNext}
            fault={sending.fault('NewPassword')}
          />
        </div>
        <ProblemNotice problem={sending.others('Password', 'NewPassword')} />
        <div class="row end">
          <Button type="submit" kind="primary" busy={sending.busy} disabled={!password || !next}>
            Change the password
          </Button>
        </div>
      </Form>
    </Card>
  );
}

/** "Firefox on Linux" from what browsers say of themselves; the whole where it is unknown. */
export function browserName(agent: string | null): string {
  if (!agent) return 'Unknown browser';
  const browser = /(Firefox|Edg|OPR|Chrome|Safari)\//.exec(
    agent.includes('Chrome/')
      ? agent.replace(/Safari\/\S+/, '').replace(/Chrome\/(?=.*(?:Edg|OPR)\/)/, '')
      : agent,
  )?.[1];
  const system = /(Windows|Android|iPhone|iPad|Mac OS X|Linux)/.exec(agent)?.[1];
  const named = { Edg: 'Edge', OPR: 'Opera' }[browser ?? ''] ?? browser;
  return named ? `${named}${system ? ` on ${system.replace('Mac OS X', 'macOS')}` : ''}` : agent;
}

function SessionsCard() {
  const list = useList<SessionEntry>('/api/v1/sessions');
  const sending = useSending();
  const end = (entry: SessionEntry) =>
    sending.run(async () => {
      await remove(path`/api/v1/sessions/${entry.SessionId}`);
      if (entry.Current) await loadSession();
      else list.reload();
      say('Session ended.');
    });
  return (
    <Card
      title="Where you are signed in"
      text="End sessions that you do not recognize, then change your password."
      flush
    >
      <ProblemNotice problem={list.problem ?? sending.problem} retry={list.reload} />
      {!list.data && list.loading && <Loading />}
      {list.data && (
        <Table
          label="Sessions"
          rows={list.data}
          rowKey={entry => entry.SessionId}
          columns={[
            {
              title: 'Browser',
              cell: entry => (
                <span class="row">
                  <span title={entry.UserAgent ?? undefined}>{browserName(entry.UserAgent)}</span>
                  {entry.Current && <Badge tone="good">this one</Badge>}
                </span>
              ),
            },
            { title: 'Address', cell: entry => <span class="mono">{entry.Address}</span> },
            { title: 'Signed in', cell: entry => <Time at={entry.SignedInAt} short /> },
            { title: 'Last used', cell: entry => <Time at={entry.LastUsedAt} short ago /> },
            {
              title: '',
              tight: true,
              cell: entry => (
                <Button
                  size="small"
                  disabled={sending.busy}
                  aria-label={
                    entry.Current ? 'Sign out here' : `End the session from ${entry.Address}`
                  }
                  onClick={() => void end(entry)}
                >
                  {entry.Current ? 'Sign out' : 'End'}
                </Button>
              ),
            },
          ]}
        />
      )}
    </Card>
  );
}

export function AccountPage() {
  const who = me.value!;
  return (
    <div class="page">
      <PageHead title="My account" />
      <Card title="You">
        <Facts
          items={[
            ['Name', who.User.Name || '–'],
            ['E-mail', who.User.Email],
            ['Role', who.User.Role],
            ['Signed in', <Time at={who.SignedInAt} />],
            ['This session ends', <Time at={who.ExpiresAt} />],
          ]}
        />
      </Card>
      <MailCard />
      <SecondFactorCard />
      {window.PublicKeyCredential && <PasskeysCard />}
      <IdentityCard />
      <PasswordCard />
      <SessionsCard />
    </div>
  );
}
