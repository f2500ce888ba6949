// API keys of the account: made, shown once, revoked.
import { useState } from 'preact/hooks';
import { useList } from '../../app/resource';
import { me, partnerId } from '../../app/session';
import { path, post, remove } from '../../lib/http';
import type { Key, Scope } from '../../lib/types';
import { Badge, Button, Code, Notice, PageHead, Time } from '../../ui/basics';
import { isolated } from '../../ui/chosen';
import { CheckField, TextField, useSending } from '../../ui/forms';
import { ListCard } from '../../ui/list-card';
import { Confirm, FormDialog, say, ShownOnce } from '../../ui/overlay';
import { Table } from '../../ui/table';

export const scopeTexts: [Scope, string][] = [
  ['reports:read', 'Read reports and statements'],
  ['callbacks:read', 'Read the callback log, the reward feed and endpoint health'],
  ['callbacks:write', 'Resend, recover, send tests'],
  ['panelists:erase', 'Erase a panelist'],
  ['apps:read', 'Read apps and clients'],
  ['apps:write', 'Change apps and clients, read and rotate secrets'],
  ['keys:write', 'Create and revoke keys'],
  ['people:write', 'Invite people and change their roles'],
  ['audit:read', 'Read the audit log'],
];

function Made({ made, onClose }: { made: Key; onClose: () => void }) {
  return (
    <ShownOnce title="Key created" action="I have copied it" onClose={onClose}>
      <Notice tone="warn" title="Copy it now">
        You will not see it again.
      </Notice>
      <Code title="Key" text={made.Key ?? ''} />
    </ShownOnce>
  );
}

function CreateDialog({
  partner,
  onClose,
  onMade,
}: {
  partner: string;
  onClose: () => void;
  onMade: (key: Key) => void;
}) {
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<Scope[]>(['reports:read']);
  const [lastDay, setLastDay] = useState('');
  const sending = useSending();
  const mine = me.value?.Scopes ?? [];
  const offered = scopeTexts.filter(([scope]) => mine.includes(scope) || mine.includes('admin'));
  const send = async () => {
    const body = {
      Name: name.trim() || undefined,
      Scopes: scopes,
      ExpiresAt: lastDay ? `${lastDay}T23:59:59.999Z` : undefined,
    };
    onMade(await post<Key>(path`/api/v1/partners/${partner}/keys`, body));
  };
  return (
    <FormDialog
      title="New API key"
      action="Create"
      sending={sending}
      fields={['Name', 'ExpiresAt']}
      disabled={!scopes.length}
      onClose={onClose}
      onSend={send}
    >
      <TextField
        label="Name"
        hint="What the key is used for."
        value={name}
        onChange={setName}
        fault={sending.fault('Name')}
      />
      <TextField
        label="Last day (UTC)"
        type="date"
        hint="The key stops working after this day. Empty: it does not expire."
        value={lastDay}
        onChange={setLastDay}
        fault={sending.fault('ExpiresAt')}
      />
      <div class="stack-small" role="group" aria-label="Scopes">
        <span class="legend">Scopes</span>
        {offered.map(([scope, text]) => (
          <CheckField
            key={scope}
            label={scope}
            hint={text}
            checked={scopes.includes(scope)}
            onChange={on =>
              setScopes(old => (on ? [...old, scope] : old.filter(other => other !== scope)))
            }
          />
        ))}
      </div>
    </FormDialog>
  );
}

export function KeysPanel({ partner = partnerId() }: { partner?: string }) {
  const list = useList<Key>(path`/api/v1/partners/${partner}/keys`);
  const [creating, setCreating] = useState(false);
  const [made, setMade] = useState<Key | null>(null);
  const [revoking, setRevoking] = useState<Key | null>(null);
  const create = (
    <Button kind="primary" size="small" onClick={() => setCreating(true)}>
      New key
    </Button>
  );
  return (
    <>
      <ListCard
        title="Keys"
        text="Keys are for the account, not for one app."
        list={list}
        create={create}
        none="No key yet"
        noneText="Create a key for each program that reads reports or callbacks, with only the scopes it needs."
      >
        {rows => (
          <Table
            label="API keys"
            rows={rows}
            rowKey={key => key.KeyId}
            columns={[
              {
                title: 'Name',
                sort: key => key.Name.toLowerCase(),
                cell: key => (
                  <span class="row">
                    {key.Name || <span class="quiet">–</span>}
                    {key.CreatorGone && <Badge tone="warn">creator removed</Badge>}
                  </span>
                ),
              },
              {
                title: 'KeyId',
                cell: key => <span class="mono">{key.KeyId}</span>,
                sort: key => key.KeyId,
              },
              {
                title: 'Scopes',
                cell: key => (
                  <span class="row">
                    {key.Scopes.map(scope => (
                      <code key={scope}>{scope}</code>
                    ))}
                  </span>
                ),
              },
              {
                title: 'Last used',
                sort: key => key.LastUsedAt ?? null,
                cell: key =>
                  key.LastUsedAt ? (
                    <Time at={key.LastUsedAt} short ago />
                  ) : (
                    <span class="quiet">never</span>
                  ),
              },
              {
                title: 'Expires',
                sort: key => key.ExpiresAt ?? null,
                cell: key =>
                  key.ExpiresAt ? (
                    <Time at={key.ExpiresAt} short />
                  ) : (
                    <span class="quiet">never</span>
                  ),
              },
              {
                title: '',
                tight: true,
                cell: key => (
                  <Button
                    size="small"
                    kind="danger"
                    aria-label={`Revoke ${key.Name || key.KeyId}`}
                    onClick={() => setRevoking(key)}
                  >
                    Revoke
                  </Button>
                ),
              },
            ]}
          />
        )}
      </ListCard>
      {creating && (
        <CreateDialog
          partner={partner}
          onClose={() => setCreating(false)}
          onMade={key => {
            setCreating(false);
            setMade(key);
            list.reload();
          }}
        />
      )}
      {made && <Made made={made} onClose={() => setMade(null)} />}
      {revoking && (
        <Confirm
          title={`Revoke ${isolated(revoking.Name || revoking.KeyId)}?`}
          action="Revoke"
          danger
          onClose={() => setRevoking(null)}
          onDo={async () => {
            await remove(path`/api/v1/partners/${partner}/keys/${revoking.KeyId}`);
            say('Key revoked.');
            list.reload();
          }}
        >
          Programs that use it get 401 from now on. This cannot be undone.
        </Confirm>
      )}
    </>
  );
}

export function KeysPage() {
  return (
    <div class="page">
      <PageHead
        title="API keys"
        text="For programs that read your reports, follow your callbacks or change your apps."
      />
      <KeysPanel />
    </div>
  );
}
