// Who changed what, when, and from where; filters stand in the address.
import { useState } from 'preact/hooks';
import { useList } from '../../app/resource';
import { query, setQuery } from '../../app/router';
import { me } from '../../app/session';
import { withQuery } from '../../lib/http';
import type { AuditEntry } from '../../lib/types';
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
import { Chosen } from '../../ui/chosen';
import { FilterCard } from '../../ui/filters';
import { Form, SelectField, TextField } from '../../ui/forms';
import { MoreRows } from '../../ui/list-card';
import { Changes, changesOf } from './changes';
import { actionTitle, actionTitles } from './words';

const names = ['partnerId', 'action', 'actor', 'object', 'from', 'to'] as const;
type Filters = Record<(typeof names)[number], string>;

const filters = (): Filters =>
  Object.fromEntries(names.map(name => [name, query.value.get(name) ?? ''])) as Filters;

const actionItems = [
  { value: '', title: 'All' },
  ...Object.keys(actionTitles).map(value => ({ value, title: value })),
];

function Filtering({ operator }: { operator: boolean }) {
  const [draft, setDraft] = useState(filters());
  const set = (name: keyof Filters) => (value: string) =>
    setDraft(old => ({ ...old, [name]: value }));
  const clear = Object.fromEntries(names.map(name => [name, false]));
  return (
    <FilterCard set={names.some(name => draft[name])}>
      <Form label="Filters" onSend={() => setQuery({ ...clear, ...draft })}>
        <div class="filters">
          <SelectField
            label="Action"
            value={draft.action}
            items={actionItems}
            onChange={set('action')}
          />
          {operator && (
            <TextField label="PartnerId" mono value={draft.partnerId} onChange={set('partnerId')} />
          )}
          <TextField
            label="By (UserId or KeyId)"
            mono
            value={draft.actor}
            onChange={set('actor')}
          />
          <TextField label="Object (its id)" mono value={draft.object} onChange={set('object')} />
          <TextField label="From day (UTC)" type="date" value={draft.from} onChange={set('from')} />
          <TextField label="To day (UTC)" type="date" value={draft.to} onChange={set('to')} />
        </div>
        <div class="row end">
          <Button
            kind="plain"
            onClick={() => {
              setDraft(Object.fromEntries(names.map(name => [name, ''])) as Filters);
              setQuery(clear);
            }}
          >
            Clear filters
          </Button>
          <Button type="submit" kind="primary">
            Filter
          </Button>
        </div>
      </Form>
    </FilterCard>
  );
}

function Who({ entry }: { entry: AuditEntry }) {
  const { Kind, Id, Name, ActingAs } = entry.Actor;
  const named =
    Name ||
    Id ||
    (Kind === 'unknown' ? 'an unknown user' : Kind === 'operator' ? 'the operator' : Kind);
  return (
    <>
      {Kind === 'key' && 'key '}
      {Id ? (
        <a href={withQuery('/audit', { actor: Id })}>
          <Chosen text={named} />
        </a>
      ) : (
        named
      )}
      {ActingAs && <Badge tone="warn">as the partner</Badge>}
    </>
  );
}

/** What it was about; about the one who did it only where the title would end in the middle. */
function About({ entry }: { entry: AuditEntry }) {
  const { Object: about, Actor } = entry;
  // An erased panelist has no id any more.
  if (!about?.Id || about.Kind === 'session') return null;
  if (about.Id === Actor.Id)
    return / (of|for|to)$/.test(actionTitle(entry.Action)) ? 'their own account' : null;
  const known = (entry.After ?? entry.Before ?? {}) as Record<string, unknown>;
  const email = typeof known['Email'] === 'string' ? known['Email'] : null;
  return (
    <a href={withQuery('/audit', { object: about.Id })} class={email ? '' : 'mono'}>
      {email ?? about.Id}
    </a>
  );
}

function Entry({ entry, operator }: { entry: AuditEntry; operator: boolean }) {
  const changes = changesOf(entry.Before, entry.After);
  return (
    <li class="attempt stack-small">
      <div class="row apart">
        <strong>
          {actionTitle(entry.Action)} <About entry={entry} />
        </strong>
        <span class="small">
          <Time at={entry.At} />
        </span>
      </div>
      <div class="small quiet row">
        <span>
          by <Who entry={entry} />
        </span>
        {entry.Address && <span>from {entry.Address}</span>}
        {operator && entry.PartnerId && (
          <span>
            account{' '}
            <a href={withQuery('/audit', { partnerId: entry.PartnerId })}>{entry.PartnerId}</a>
          </span>
        )}
        <span class="mono">{entry.Action}</span>
      </div>
      {changes.length > 0 && (
        <details open={entry.Before !== null && changes.length <= 3}>
          <summary>
            {entry.Before ? 'What changed' : 'Details'} ({changes.length})
            <span class="unseen">, {entry.Action}</span>
          </summary>
          <Changes changes={changes} />
        </details>
      )}
    </li>
  );
}

export function AuditPage() {
  const operator = me.value?.Side === 'operator';
  const { from, to, ...rest } = filters();
  const list = useList<AuditEntry>('/api/v1/audit', {
    ...rest,
    from: from && `${from}T00:00:00.000Z`,
    to: to && `${to}T23:59:59.999Z`,
  });
  const filtered = names.some(name => query.value.get(name));
  return (
    <div class="page">
      <PageHead title="Audit log" text="Every change and every sign-in." />
      <Filtering key={query.value.toString()} operator={operator} />
      <ProblemNotice problem={list.problem} retry={list.reload} />
      <Card flush>
        {!list.data && list.loading && <Loading />}
        {list.data?.length === 0 && (
          <Empty title={filtered ? 'No matching entries' : 'Nothing yet'}>
            {filtered ? 'Remove a filter to see more.' : 'Changes appear here at once.'}
          </Empty>
        )}
        {list.data && list.data.length > 0 && (
          <ol class="plain-list" aria-label="Entries">
            {list.data.map(entry => (
              <Entry key={entry.AuditId} entry={entry} operator={operator} />
            ))}
          </ol>
        )}
        <MoreRows list={list} />
      </Card>
    </div>
  );
}
