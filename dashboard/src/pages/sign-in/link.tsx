// A one-time link: the first administrator, an invitation, or a forgotten password. The token
// stands behind '#', so that it never reaches a server's log.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useRead } from '../../app/resource';
import { address, navigate } from '../../app/router';
import { takeSession } from '../../app/session';
import { post, Problem } from '../../lib/http';
import type { PartnerName, Role, Session } from '../../lib/types';
import {
  Button,
  Card,
  LinkButton,
  Loading,
  Notice,
  PageHead,
  ProblemNotice,
  Time,
} from '../../ui/basics';
import { Chosen } from '../../ui/chosen';
import { Form, TextField, useSending } from '../../ui/forms';
import { Mark } from '../../ui/icons';

interface Link {
  Kind: 'invitation' | 'reset' | 'set_up';
  Email: string | null;
  Name: string | null;
  Role: Role;
  Partner: PartnerName | null;
  ExpiresAt: string;
  SecondFactor: boolean;
}

const titles = {
  invitation: 'Accept your invitation',
  reset: 'Choose a new password',
  set_up: 'Set up postbackd',
};

function intro(link: Link): ComponentChildren {
  if (link.Kind === 'set_up') return 'You become the first administrator of this installation.';
  const where = <Chosen text={link.Partner ? link.Partner.Name : 'the operator'} />;
  if (link.Kind === 'reset') return ['For ', link.Email, ' at ', where, '.'];
  return ['You join ', where, ` as ${link.Role}, with ${link.Email}.`];
}

function LinkForm({ token, link }: { token: string; link: Link }) {
  const [name, setName] = useState(link.Name ?? '');
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const sending = useSending();
  const isSetUp = link.Kind === 'set_up';
  const send = () =>
    sending.run(async () => {
      const given = await post<Session>('/api/v1/links/use', {
        Token: token,
        Password: password,
        Name: link.Kind === 'reset' ? undefined : name.trim() || undefined,
        Email: isSetUp ? email.trim() : undefined,
        Code: link.SecondFactor ? code.trim() : undefined,
      });
      navigate('/', true);
      takeSession(given);
    });
  return (
    <Card>
      <Form onSend={send} label={titles[link.Kind]}>
        {isSetUp && (
          <TextField
            label="E-mail"
            type="email"
            autocomplete="username"
            value={email}
            onChange={setEmail}
            fault={sending.fault('Email')}
          />
        )}
        {link.Kind !== 'reset' && (
          <TextField
            label="Name"
            autocomplete="name"
            value={name}
            onChange={setName}
            fault={sending.fault('Name')}
          />
        )}
        <TextField
          label="Password"
          type="password"
          autocomplete="new-password"
          hint="At least 12 characters: use a few words."
          value={password}
          onChange={setPassword}
          fault={sending.fault('Password')}
        />
        {link.SecondFactor && (
          <TextField
            label="Code"
            hint="Six digits from your authenticator app, or a recovery code."
            autocomplete="one-time-code"
            mono
            value={code}
            onChange={setCode}
            fault={sending.fault('Code')}
          />
        )}
        <ProblemNotice problem={sending.others('Email', 'Name', 'Password', 'Code')} />
        <Button type="submit" kind="primary" busy={sending.busy}>
          {link.Kind === 'reset' ? 'Set the password' : 'Create my account'}
        </Button>
        <p class="quiet small">
          This link expires <Time at={link.ExpiresAt} />.
        </p>
      </Form>
    </Card>
  );
}

export function LinkPage() {
  const [token] = useState(() => address.value.hash.slice(1));
  useEffect(() => {
    // Out of the address bar, so that it is not copied or kept in the history by accident.
    if (address.value.hash) history.replaceState(null, '', '/link');
  }, []);
  const { data: link, problem } = useRead(token ? token : null, () =>
    post<Link>('/api/v1/links/check', { Token: token }),
  );
  const gone = !token || problem?.status === 404;
  const refused = gone || problem?.status === 403;
  return (
    <main class="centre">
      <div class="row">
        <Mark />
        <strong>postbackd</strong>
      </div>
      <PageHead
        title={link ? titles[link.Kind] : refused ? 'This link does not work' : 'Loading'}
        text={link ? intro(link) : undefined}
      />
      {gone ? (
        <>
          <Notice tone="warn" title="The link is wrong, already used, or expired">
            A link works once. Ask the sender for a new one. Only the newest link works.
          </Notice>
          <LinkButton href="/">Go to the sign-in page</LinkButton>
        </>
      ) : link ? (
        <LinkForm token={token} link={link} />
      ) : problem instanceof Problem ? (
        <ProblemNotice problem={problem} />
      ) : (
        <Loading />
      )}
    </main>
  );
}
