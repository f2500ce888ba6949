// The operator's accounts: found by name, made, opened.
import { useState } from 'preact/hooks';
import { useRead, useResource, everyItem } from '../../app/resource';
import { navigate, query, setQuery } from '../../app/router';
import { may, serverNow } from '../../app/session';
import { dayOf } from '../../lib/dates';
import { path, post } from '../../lib/http';
import { sum, type Decimal } from '../../lib/decimal';
import type { AccountEndpoints, Partner, PartnerEarnings } from '../../lib/types';
import { Badge, Button, Card, Empty, Loading, PageHead, ProblemNotice } from '../../ui/basics';
import { IdField, TextField, useSending } from '../../ui/forms';
import { healthWords } from '../../ui/health';
import { FormDialog } from '../../ui/overlay';
import { Cents, count } from '../../ui/money';
import { Table } from '../../ui/table';
import { monthsTo, readEarnings } from '../earnings/earnings';

function CreateDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('');
  const [id, setId] = useState('');
  const sending = useSending();
  const send = async () => {
    const made = await post<Partner>('/api/v1/partners', {
      Name: name.trim() || undefined,
      PartnerId: id.trim() || undefined,
    });
    onClose();
    navigate(path`/partners/${made.PartnerId}/people`);
  };
  return (
    <FormDialog
      title="New partner"
      action="Create"
      sending={sending}
      fields={['Name', 'PartnerId']}
      onClose={onClose}
      onSend={send}
    >
      <TextField label="Name" value={name} onChange={setName} fault={sending.fault('Name')} />
      <IdField label="PartnerId" value={id} onChange={setId} fault={sending.fault('PartnerId')} />
    </FormDialog>
  );
}

const shownMost = 200;

type Money = Record<'now' | 'before', Map<string, PartnerEarnings>>;

/** This month's and last month's rewards of all partners. */
function useMoney(): Money | null {
  const { now, before } = monthsTo(dayOf(serverNow()));
  const { data } = useRead(may('reports:read') ? `money ${now.endDate}` : null, async signal => {
    const [one, other] = await Promise.all([now, before].map(p => readEarnings(p, signal)));
    const byId = (rows: PartnerEarnings[]) => new Map(rows.map(row => [row.PartnerId, row]));
    return { now: byId(one!), before: byId(other!) };
  });
  return data;
}

/** Of its endpoints: how many are not healthy. */
function PartnerHealth({ id, health }: { id: string; health: AccountEndpoints | null }) {
  const bad = health?.Partners.find(one => one.PartnerId === id);
  if (bad)
    return (
      <Badge tone={healthWords[bad.Worst].tone}>
        {count(bad.NotHealthy)} not healthy: {healthWords[bad.Worst].title}
      </Badge>
    );
  return <span class="quiet">{health ? 'No problem' : '–'}</span>;
}

/** Totals are of all that were found, though only the first are shown. */
function PartnersTable({ found }: { found: Partner[] }) {
  const health = useResource<AccountEndpoints>(
    may('callbacks:read') ? '/api/v1/endpoints' : null,
    {},
    { everyMs: 30_000 },
  );
  const money = useMoney();
  const earned = (month: keyof Money, partner: Partner) =>
    money?.[month].get(partner.PartnerId)?.Earnings ?? null;
  const dollars = (amount: Decimal | null) =>
    amount ? <Cents amount={amount} /> : <span class="quiet">–</span>;
  const total = (month: keyof Money) =>
    dollars(money && sum(found.flatMap(partner => earned(month, partner) ?? [])));
  return (
    <Table
      label="Partners"
      rows={found}
      most={shownMost}
      rowKey={partner => partner.PartnerId}
      columns={[
        {
          title: 'Name',
          cell: partner => (
            <a href={path`/partners/${partner.PartnerId}`}>{partner.Name || partner.PartnerId}</a>
          ),
          sort: partner => (partner.Name || partner.PartnerId).toLowerCase(),
          total: 'Total',
        },
        {
          title: 'PartnerId',
          cell: partner => <span class="mono">{partner.PartnerId}</span>,
          sort: partner => partner.PartnerId,
        },
        {
          title: 'Endpoints',
          cell: partner => <PartnerHealth id={partner.PartnerId} health={health.data} />,
        },
        {
          title: 'This month',
          right: true,
          cell: partner => dollars(earned('now', partner)),
          sort: partner => earned('now', partner),
          total: total('now'),
        },
        {
          title: 'Last month',
          right: true,
          cell: partner => dollars(earned('before', partner)),
          sort: partner => earned('before', partner),
          total: total('before'),
        },
        {
          title: 'Messages',
          cell: partner =>
            partner.OperationsUrl ? 'OperationsUrl set' : <span class="quiet">no URL</span>,
        },
        {
          title: 'State',
          cell: partner =>
            partner.Enabled ? <Badge tone="good">on</Badge> : <Badge tone="warn">off</Badge>,
        },
      ]}
    />
  );
}

export function PartnersPage() {
  const { data, problem, loading, reload } = useRead('partners', signal =>
    everyItem<Partner>('/api/v1/partners', {}, signal),
  );
  const [creating, setCreating] = useState(false);
  const wanted = query.value.get('q') ?? '';
  const found = data?.filter(one =>
    `${one.Name} ${one.PartnerId}`.toLowerCase().includes(wanted.trim().toLowerCase()),
  );
  const create = may('admin') && (
    <Button kind="primary" onClick={() => setCreating(true)}>
      New partner
    </Button>
  );
  return (
    <div class="page">
      <PageHead title="Partners" text="Accounts with their apps, people and keys.">
        {data && data.length > 0 && create}
      </PageHead>
      <ProblemNotice problem={problem} retry={reload} />
      {data && data.length > 0 && (
        <div class="narrow">
          <TextField
            label="Find"
            type="search"
            placeholder="Name or PartnerId"
            value={wanted}
            onChange={text => setQuery({ q: text })}
          />
        </div>
      )}
      <Card flush>
        {!data && loading && <Loading />}
        {data?.length === 0 && (
          <Empty title="No partner yet" action={create || undefined}>
            A partner is an account with its own apps. Create one, then invite its first owner.
          </Empty>
        )}
        {found && found.length > 0 && <PartnersTable found={found} />}
        {data && data.length > 0 && found?.length === 0 && (
          <Empty title="No matching partner">Try fewer letters.</Empty>
        )}
        {found && found.length > shownMost && (
          <div class="table-foot">
            <span class="quiet">
              Showing {shownMost} of {count(found.length)}. Search to find the others.
            </span>
          </div>
        )}
      </Card>
      {creating && <CreateDialog onClose={() => setCreating(false)} />}
    </div>
  );
}
