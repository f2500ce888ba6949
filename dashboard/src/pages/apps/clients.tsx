// Tab "Clients": the app's integrations.
import { useState } from 'preact/hooks';
import { useList } from '../../app/resource';
import { may } from '../../app/session';
import { path, post, request } from '../../lib/http';
import type { Client, Integration } from '../../lib/types';
import { Badge, Button } from '../../ui/basics';
import { IdField, SelectField, TextField, useSending } from '../../ui/forms';
import { ListCard } from '../../ui/list-card';
import { Confirm, FormDialog, say } from '../../ui/overlay';
import { Table } from '../../ui/table';
import type { TabProps } from './loaded';

const integrations: { value: Integration; title: string }[] = [
  { value: 'sdk', title: 'SDK' },
  { value: 'iframe', title: 'iFrame' },
  { value: 'monetization_api', title: 'Monetization API' },
];

const integrationTitle = (value: Integration) =>
  integrations.find(one => one.value === value)?.title ?? value;

function CreateDialog({
  app,
  onClose,
  onDone,
}: {
  app: string;
  onClose: () => void;
  onDone: () => void;
}) {
  const [id, setId] = useState('');
  const [name, setName] = useState('');
  const [integration, setIntegration] = useState<Integration>('sdk');
  const sending = useSending();
  const send = async () => {
    const body = {
      ClientId: id.trim() || undefined,
      Name: name.trim() || undefined,
      Integration: integration,
    };
    const client = await post<Client>(path`/api/v1/apps/${app}/clients`, body);
    say(`Client ${client.ClientId} created.`);
    onDone();
    onClose();
  };
  return (
    <FormDialog
      title="New client"
      action="Create"
      sending={sending}
      fields={['Name', 'ClientId', 'Integration']}
      onClose={onClose}
      onSend={send}
    >
      <TextField label="Name" value={name} onChange={setName} fault={sending.fault('Name')} />
      <IdField label="ClientId" value={id} onChange={setId} fault={sending.fault('ClientId')} />
      <SelectField
        label="Integration"
        value={integration}
        items={integrations}
        onChange={setIntegration}
        fault={sending.fault('Integration')}
      />
    </FormDialog>
  );
}

function SwitchClient({
  client,
  onClose,
  onDone,
}: {
  client: Client;
  onClose: () => void;
  onDone: () => void;
}) {
  const on = !client.Enabled;
  return (
    <Confirm
      title={on ? `Switch ${client.ClientId} on?` : `Switch ${client.ClientId} off?`}
      action={on ? 'Switch on' : 'Switch off'}
      danger={!on}
      onClose={onClose}
      onDo={async () => {
        await request('PATCH', path`/api/v1/clients/${client.ClientId}`, { body: { Enabled: on } });
        say(on ? 'Client switched on.' : 'Client switched off.');
        onDone();
      }}
    >
      {on
        ? 'Its events are accepted again from now on.'
        : 'Its events are rejected from now on. Rejected events must be reported again.'}
    </Confirm>
  );
}

export function ClientsTab({ app }: TabProps) {
  const list = useList<Client>(path`/api/v1/apps/${app.AppId}/clients`);
  const [creating, setCreating] = useState(false);
  const [switching, setSwitching] = useState<Client | null>(null);
  const writable = may('apps:write');
  const create = writable && (
    <Button kind="primary" size="small" onClick={() => setCreating(true)}>
      New client
    </Button>
  );
  return (
    <>
      <ListCard
        title="Clients"
        text="One for each integration. Reports and offer callbacks show its ClientId."
        list={list}
        create={create}
        none="No client yet"
        noneText="Every event belongs to a client. Create one for each place where you show surveys or offers."
      >
        {rows => (
          <Table
            label="Clients"
            rows={rows}
            rowKey={client => client.ClientId}
            columns={[
              {
                title: 'ClientId',
                cell: client => <span class="mono">{client.ClientId}</span>,
                sort: client => client.ClientId,
              },
              {
                title: 'Name',
                cell: client => client.Name || <span class="quiet">–</span>,
                sort: client => client.Name.toLowerCase(),
              },
              {
                title: 'Integration',
                cell: client => integrationTitle(client.Integration),
                sort: client => client.Integration,
              },
              {
                title: 'State',
                cell: client =>
                  client.Enabled ? <Badge tone="good">on</Badge> : <Badge tone="warn">off</Badge>,
              },
              ...(writable
                ? [
                    {
                      title: '',
                      tight: true,
                      cell: (client: Client) => (
                        <Button
                          size="small"
                          aria-label={`${client.Enabled ? 'Switch off' : 'Switch on'} ${client.ClientId}`}
                          onClick={() => setSwitching(client)}
                        >
                          {client.Enabled ? 'Switch off' : 'Switch on'}
                        </Button>
                      ),
                    },
                  ]
                : []),
            ]}
          />
        )}
      </ListCard>
      {creating && (
        <CreateDialog app={app.AppId} onClose={() => setCreating(false)} onDone={list.reload} />
      )}
      {switching && (
        <SwitchClient client={switching} onClose={() => setSwitching(null)} onDone={list.reload} />
      )}
    </>
  );
}
