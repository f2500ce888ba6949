// Who may sign in: inviting, roles, and letting somebody in again who is locked out. The same page
// for a partner's people and for the operator's own.
import { useState } from 'preact/hooks';
import { useList } from '../../app/resource';
import { me } from '../../app/session';
import { post } from '../../lib/http';
import type { Role, User } from '../../lib/types';
import {
  Badge,
  Button,
  Card,
  Empty,
  Loading,
  PageHead,
  ProblemNotice,
  Time,
} from '../../ui/basics';
import { Form, SelectField, TextField, useSending } from '../../ui/forms';
import { Dialog } from '../../ui/overlay';
import { Table } from '../../ui/table';
import { LinkDialog, type MadeLink } from './link-dialog';
import { ManageDialog } from './manage';
import { rolesOf, roleText } from './roles';

function InviteDialog({
  onClose,
  onMade,
}: {
  onClose: () => void;
  onMade: (link: MadeLink) => void;
}) {
  const roles = rolesOf(me.value!.Side);
  const [email, setEmail] = useState('');
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>(roles[1]!.value);
  const sending = useSending();
  const send = () =>
    sending.run(async () => {
      const body = { Email: email.trim(), Name: name.trim() || undefined, Role: role };
      const made = await post<{ User: User; Link: string; LinkExpiresAt: string }>(
        '/api/v1/users',
        body,
      );
      onMade({ email: made.User.Email, link: made.Link, expiresAt: made.LinkExpiresAt });
    });
  return (
    <Dialog title="Invite somebody" onClose={onClose}>
      <Form onSend={send} label="Invitation">
        <TextField
          label="E-mail"
          type="email"
          value={email}
          onChange={setEmail}
          fault={sending.fault('Email')}
        />
        <TextField label="Name" value={name} onChange={setName} fault={sending.fault('Name')} />
        <SelectField
          label="Role"
          value={role}
          items={roles}
          onChange={setRole}
          hint={roleText(role)}
          fault={sending.fault('Role')}
        />
        <ProblemNotice problem={sending.others('Email', 'Name', 'Role')} />
        <div class="row end">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={sending.busy}>
            Make the invitation
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

function UserState({ user }: { user: User }) {
  if (!user.Enabled) return <Badge tone="warn">off</Badge>;
  if (user.Invited) return <Badge tone="info">invited</Badge>;
  return <Badge tone="good">active</Badge>;
}

export function PeoplePage() {
  const list = useList<User>('/api/v1/users');
  const [inviting, setInviting] = useState(false);
  const [managed, setManaged] = useState<User | null>(null);
  const [link, setLink] = useState<MadeLink | null>(null);
  const took = (made: MadeLink) => {
    setInviting(false);
    setManaged(null);
    setLink(made);
    list.reload();
  };
  return (
    <div class="page">
      <PageHead title="People" text="Who may sign in here, and what they may do.">
        <Button kind="primary" onClick={() => setInviting(true)}>
          Invite somebody
        </Button>
      </PageHead>
      <ProblemNotice problem={list.problem} retry={list.reload} />
      <Card flush>
        {!list.data && list.loading && <Loading />}
        {list.data?.length === 0 && (
          <Empty title="Nobody yet">
            Invite the people who write your receiver and read your reports.
          </Empty>
        )}
        {list.data && list.data.length > 0 && (
          <Table
            label="People"
            rows={list.data}
            rowKey={user => user.UserId}
            columns={[
              { title: 'Name', cell: user => user.Name || <span class="quiet">–</span> },
              { title: 'E-mail', cell: user => user.Email },
              { title: 'Role', cell: user => user.Role },
              { title: 'State', cell: user => <UserState user={user} /> },
              {
                title: 'Second factor',
                cell: user =>
                  user.SecondFactor ? <Badge tone="good">on</Badge> : <Badge>off</Badge>,
              },
              { title: 'Last signed in', cell: user => <Time at={user.LastSignInAt} short ago /> },
              {
                title: '',
                tight: true,
                cell: user => (
                  <Button
                    size="small"
                    aria-label={`Manage ${user.Email}`}
                    onClick={() => setManaged(user)}
                  >
                    Manage
                  </Button>
                ),
              },
            ]}
          />
        )}
        {list.more && (
          <div class="table-foot">
            <span />
            <Button size="small" onClick={list.loadMore}>
              Show more
            </Button>
          </div>
        )}
      </Card>
      {inviting && <InviteDialog onClose={() => setInviting(false)} onMade={took} />}
      {managed && (
        <ManageDialog
          user={managed}
          onClose={() => setManaged(null)}
          onChanged={() => {
            setManaged(null);
            list.reload();
          }}
          onLink={took}
        />
      )}
      {link && <LinkDialog made={link} onClose={() => setLink(null)} />}
    </div>
  );
}
