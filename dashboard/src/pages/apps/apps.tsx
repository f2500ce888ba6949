// All apps of the account.
import { useState } from 'preact/hooks';
import { useList, useResource } from '../../app/resource';
import { navigate } from '../../app/router';
import { may, me, partnerId } from '../../app/session';
import { path, post } from '../../lib/http';
import type { AccountEndpoints, App } from '../../lib/types';
import { Badge, Button, PageHead } from '../../ui/basics';
import { HealthBadge } from '../../ui/health';
import { IdField, TextField, useSending } from '../../ui/forms';
import { ListCard } from '../../ui/list-card';
import { FormDialog } from '../../ui/overlay';
import { Table } from '../../ui/table';
import { OwnSecretField, takesSecrets } from './secret';

/** Where an app is shown: the operator names its partner. */
export const appPage = (app: string, partner: string) =>
  me.value?.Side === 'operator' ? path`/partners/${partner}/apps/${app}` : path`/apps/${app}`;

export function CreateAppDialog({ partner, onClose }: { partner: string; onClose: () => void }) {
  const [name, setName] = useState('');
  const [id, setId] = useState('');
  const [value, setValue] = useState('100');
  const [secret, setSecret] = useState('');
  const sending = useSending();
  const send = async () => {
    const app = await post<App>(path`/api/v1/partners/${partner}/apps`, {
      Name: name.trim() || undefined,
      AppId: id.trim() || undefined,
      CurrencyValue: value.trim(),
      CallbackSecret: secret || undefined,
    });
    onClose();
    navigate(`${appPage(app.AppId, partner)}/postback`);
  };
  return (
    <FormDialog
      title="New app"
      action="Create"
      sending={sending}
      fields={['Name', 'AppId', 'CurrencyValue', 'CallbackSecret']}
      onClose={onClose}
      onSend={send}
    >
      <TextField label="Name" value={name} onChange={setName} fault={sending.fault('Name')} />
      <IdField label="AppId" value={id} onChange={setId} fault={sending.fault('AppId')} />
      <TextField
        label="Currency Value"
        unit="of your currency per 1 USD"
        inputMode="decimal"
        value={value}
        onChange={setValue}
        fault={sending.fault('CurrencyValue')}
      />
      {takesSecrets() && (
        <OwnSecretField
          value={secret}
          onChange={setSecret}
          fault={sending.fault('CallbackSecret')}
        />
      )}
    </FormDialog>
  );
}

const urlsOf = (app: App) =>
  [app.SuccessCallbackUrl, app.FailureCallbackUrl, app.OfferCallbackUrl].filter(Boolean).length;

/** On or off, and the worst of its endpoints. Nothing is called healthy that was not read. */
function AppState({ app, health }: { app: App; health: AccountEndpoints | null }) {
  if (!app.Enabled) return <Badge tone="warn">off</Badge>;
  const bad = health?.Apps.find(one => one.AppId === app.AppId);
  if (bad)
    return (
      <>
        <HealthBadge health={bad.Worst} />
        {urlsOf(app) > 1 && (
          <div class="small quiet">
            {bad.NotHealthy} of {urlsOf(app)} URLs
          </div>
        )}
      </>
    );
  return health && urlsOf(app) ? <HealthBadge health="open" /> : <Badge>on</Badge>;
}

export function AppsPanel({ partner }: { partner: string }) {
  const list = useList<App>(path`/api/v1/partners/${partner}/apps`);
  const health = useResource<AccountEndpoints>(
    may('callbacks:read') ? '/api/v1/endpoints' : null,
    me.value?.Side === 'operator' ? { partnerId: partner } : {},
    { everyMs: 10_000 },
  );
  const [creating, setCreating] = useState(false);
  const create = may('apps:write') && (
    <Button kind="primary" size="small" onClick={() => setCreating(true)}>
      New app
    </Button>
  );
  return (
    <>
      <ListCard
        title="Apps"
        list={list}
        problem={health.problem}
        create={create}
        none="No app yet"
        noneText="Create an app for each of your products, set its callback URLs, and try them in the test console."
      >
        {rows => (
          <Table
            label="Apps"
            rows={rows}
            rowKey={app => app.AppId}
            columns={[
              {
                title: 'Name',
                sort: app => (app.Name || app.AppId).toLowerCase(),
                cell: app => <a href={appPage(app.AppId, partner)}>{app.Name || app.AppId}</a>,
              },
              {
                title: 'AppId',
                cell: app => <span class="mono">{app.AppId}</span>,
                sort: app => app.AppId,
              },
              {
                title: 'Currency Value',
                right: true,
                cell: app => app.CurrencyValue.format(),
                sort: app => app.CurrencyValue,
              },
              {
                title: 'URLs',
                cell: app =>
                  urlsOf(app) ? `${urlsOf(app)} of 3 set` : <Badge tone="warn">none set</Badge>,
              },
              {
                title: 'State',
                cell: app => <AppState app={app} health={health.data} />,
              },
            ]}
          />
        )}
      </ListCard>

      {creating && <CreateAppDialog partner={partner} onClose={() => setCreating(false)} />}
    </>
  );
}

export function AppsPage() {
  return (
    <div class="page">
      <PageHead title="Apps" text="Each app has its Currency Value, callback URLs and secret." />
      <AppsPanel partner={partnerId()} />
    </div>
  );
}
