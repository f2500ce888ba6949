// What can be done about one person. Each act is its own request; what may not be done (the last
// owner, oneself) the daemon refuses in words.
import { useState } from 'preact/hooks';
import { me } from '../../app/session';
import { path, post, remove, request } from '../../lib/http';
import type { Role, User } from '../../lib/types';
import { Button, Facts, Notice, ProblemNotice, Time } from '../../ui/basics';
import { SelectField, useSending } from '../../ui/forms';
import { Dialog, say } from '../../ui/overlay';
import type { MadeLink } from './link-dialog';
import { rolesOf, roleText } from './roles';

interface Props {
  user: User;
  /** An operator's: whose account it is. */
  partner?: string;
  onClose: () => void;
  onChanged: () => void;
  onLink: (email: string, made: MadeLink) => void;
}

export function ManageDialog({ user, partner, onClose, onChanged, onLink }: Props) {
  const [role, setRole] = useState<Role>(user.Role);
  const [removing, setRemoving] = useState(false);
  const sending = useSending();
  const self = user.UserId === me.value?.User.UserId;
  const address = path`/api/v1/users/${user.UserId}`;
  const query = { partnerId: partner };
  const act = (done: string, change: () => Promise<unknown>) =>
    sending.run(async () => {
      await change();
      say(done);
      onChanged();
    });
  const patch = (done: string, body: Partial<User>) =>
    act(done, () => request('PATCH', address, { body, query }));
  const makeLink = () =>
    sending.run(async () => {
      onLink(user.Email, await post<MadeLink>(`${address}/link`, undefined, query));
    });
  return (
    <Dialog title={user.Name || user.Email} onClose={onClose}>
      <Facts
        items={[
          ['E-mail', user.Email],
          ['Since', <Time at={user.CreatedAt} />],
          ['Last signed in', <Time at={user.LastSignInAt} />],
        ]}
      />
      {self ? (
        <Notice>
          This is you: your password, second factor and sessions are on{' '}
          <a href="/account">My account</a>.
        </Notice>
      ) : (
        <>
          <SelectField
            label="Role"
            value={role}
            items={rolesOf(user.PartnerId ? 'partner' : 'operator')}
            hint={`${roleText(role)} A new role ends the sessions and the open link of this person.`}
            onChange={setRole}
          />
          <div class="row">
            {role !== user.Role && (
              <Button
                kind="primary"
                busy={sending.busy}
                onClick={() => patch('Role changed.', { Role: role })}
              >
                Change the role
              </Button>
            )}
            <Button disabled={sending.busy} onClick={makeLink}>
              {user.Invited ? 'New invitation link' : 'Link for a new password'}
            </Button>
            {(user.SecondFactor || user.Passkeys > 0) && (
              <Button
                disabled={sending.busy}
                onClick={() =>
                  act('The second factor is off.', () => remove(`${address}/second-factor`, query))
                }
              >
                {user.Passkeys ? 'Remove second factor and passkeys' : 'Turn off the second factor'}
              </Button>
            )}
            {user.Issuer && (
              <Button
                disabled={sending.busy}
                onClick={() => act('Unlinked.', () => remove(`${address}/identity`, query))}
              >
                Unlink from the provider
              </Button>
            )}
            <Button
              disabled={sending.busy}
              onClick={() => act('All sessions ended.', () => remove(`${address}/sessions`, query))}
            >
              End all sessions
            </Button>
            <Button
              disabled={sending.busy}
              onClick={() =>
                user.Enabled
                  ? patch('Sign-in disabled.', { Enabled: false })
                  : patch('This person can sign in again.', { Enabled: true })
              }
            >
              {user.Enabled ? 'Switch off' : 'Switch on'}
            </Button>
            {removing ? (
              <Button
                kind="danger"
                busy={sending.busy}
                onClick={() => act('Removed.', () => remove(address, query))}
              >
                Remove permanently
              </Button>
            ) : (
              <Button kind="danger" disabled={sending.busy} onClick={() => setRemoving(true)}>
                Remove
              </Button>
            )}
          </div>
        </>
      )}
      <ProblemNotice problem={sending.problem} />
      <div class="row end">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}
