// People: inviting, roles, and letting somebody in again who is locked out. The same for
// a partner's own people, for the operator's own, and for a partner's as the operator sees them.
import { useState } from 'preact/hooks';
import { useList } from '../../app/resource';
import { me } from '../../app/session';
import { post } from '../../lib/http';
import type { Role, User } from '../../lib/types';
import { Badge, Button, PageHead, Time } from '../../ui/basics';
import { SelectField, TextField, useSending } from '../../ui/forms';
import { ListCard } from '../../ui/list-card';
import { FormDialog } from '../../ui/overlay';
import { Table } from '../../ui/table';
import { LinkDialog, type MadeLink } from './link-dialog';
import { ManageDialog } from './manage';
import { rolesOf, roleText } from './roles';

interface PanelProps {
  /** An operator's: whose people; without it the account's own. */
  partner?: string;
}

function InviteDialog({
  partner,
  first,
  onClose,
  onMade,
}: PanelProps & {
  first: boolean;
  onClose: () => void;
  onMade: (email: string, made: MadeLink) => void;
}) {
  const roles = rolesOf(partner ? 'partner' : me.value!.Side);
  const [email, setEmail] = useState('');
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>(roles[first ? 0 : 1]!.value);
  const sending = useSending();
  const send = async () => {
    const body = { Email: email.trim(), Name: name.trim() || undefined, Role: role };
    const made = await post<MadeLink & { User: User }>('/api/v1/users', body, {
      partnerId: partner,
    });
    onMade(made.User.Email, made);
  };
  return (
    <FormDialog
      title="Invite a person"
      label="Invitation"
      action="Create invitation"
      sending={sending}
      fields={['Email', 'Name', 'Role']}
      onClose={onClose}
      onSend={send}
    >
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
    </FormDialog>
  );
}

function UserState({ user }: { user: User }) {
  if (!user.Enabled) return <Badge tone="warn">off</Badge>;
  if (user.Invited) return <Badge tone="info">invited</Badge>;
  return <Badge tone="good">active</Badge>;
}

export function PeoplePanel({ partner }: PanelProps) {
  const list = useList<User>('/api/v1/users', { partnerId: partner });
  const [inviting, setInviting] = useState(false);
  const [managed, setManaged] = useState<User | null>(null);
  const [link, setLink] = useState<{ email: string; made: MadeLink } | null>(null);
  const took = (email: string, made: MadeLink) => {
    setInviting(false);
    setManaged(null);
    setLink({ email, made });
    list.reload();
  };
  const none = list.data?.length === 0;
  const invite = (
    <Button kind="primary" size="small" onClick={() => setInviting(true)}>
      {none && partner ? 'Invite the first owner' : 'Invite a person'}
    </Button>
  );
  return (
    <>
      <ListCard
        title="People"
        list={list}
        create={invite}
        none="No people yet"
        noneText={
          partner
            ? 'Invite the first owner, who can then invite others.'
            : 'Invite the people who write your receiver and read your reports.'
        }
      >
        {rows => (
          <Table
            label="People"
            rows={rows}
            rowKey={user => user.UserId}
            columns={[
              {
                title: 'Name',
                cell: user => user.Name || <span class="quiet">–</span>,
                sort: user => user.Name.toLowerCase(),
              },
              { title: 'E-mail', cell: user => user.Email, sort: user => user.Email },
              { title: 'Role', tight: true, cell: user => user.Role, sort: user => user.Role },
              { title: 'State', tight: true, cell: user => <UserState user={user} /> },
              {
                title: 'Second factor',
                tight: true,
                cell: user =>
                  user.SecondFactor ? <Badge tone="good">on</Badge> : <Badge>off</Badge>,
              },
              {
                title: 'Last signed in',
                cell: user => <Time at={user.LastSignInAt} short ago />,
                sort: user => user.LastSignInAt,
              },
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
      </ListCard>

      {inviting && (
        <InviteDialog
          partner={partner}
          first={none && !!partner}
          onClose={() => setInviting(false)}
          onMade={took}
        />
      )}
      {managed && (
        <ManageDialog
          user={managed}
          partner={partner}
          onClose={() => setManaged(null)}
          onChanged={() => {
            setManaged(null);
            list.reload();
          }}
          onLink={took}
        />
      )}
      {link && <LinkDialog {...link} onClose={() => setLink(null)} />}
    </>
  );
}

export function PeoplePage() {
  return (
    <div class="page">
      <PageHead title="People" text="Who can sign in, and what they can do." />
      <PeoplePanel />
    </div>
  );
}
