// The log of callbacks: search, and sending again what did not arrive.
import { useEffect, useRef, useState } from 'preact/hooks';
import { useList, everyItem, useRead, useResource } from '../../app/resource';
import { query, setQuery } from '../../app/router';
import { may, partnerId } from '../../app/session';
import { Problem, path, post, type Query } from '../../lib/http';
import {
  callbackStates,
  rewardTypes,
  type AccountEndpoints,
  type App,
  type Callback,
} from '../../lib/types';
import {
  Button,
  Card,
  Empty,
  Loading,
  Notice,
  PageHead,
  ProblemNotice,
  Time,
} from '../../ui/basics';
import { FilterCard } from '../../ui/filters';
import { SelectField, TextField } from '../../ui/forms';
import { Amount } from '../../ui/money';
import { say } from '../../ui/overlay';
import { Table, type Column } from '../../ui/table';
import { callbackPage, callbackPath } from './paths';
import { RecoverDialog, RecoveryProgress } from './recover';
import { heldBy, Progress, Result } from './progress';
import { typeTitles } from './words';

const filterNames = [
  'rewardId',
  'panelistId',
  'rewardType',
  'state',
  'appId',
  'from',
  'to',
] as const;

/** A minute of a datetime-local field is meant in UTC. */
function asTime(minute: string | null): string | null {
  return minute ? `${minute}:00Z` : null;
}

function asked(): Query {
  const given = query.value;
  return {
    ...Object.fromEntries(filterNames.map(name => [name, given.get(name)])),
    from: asTime(given.get('from')),
    to: asTime(given.get('to')),
  };
}

function useApps(): App[] {
  const { data } = useRead(may('apps:read') ? `apps ${partnerId()}` : null, signal =>
    everyItem<App>(path`/api/v1/partners/${partnerId()}/apps`, {}, signal),
  );
  return data ?? [];
}

/** A text filter that asks when the typing pauses. */
function SearchField({
  name,
  label,
  placeholder,
}: {
  name: string;
  label: string;
  placeholder: string;
}) {
  const given = query.value.get(name) ?? '';
  const [text, setText] = useState(given);
  const asked = useRef(given);
  useEffect(() => {
    // What the address says by itself; what was typed since the last question stays.
    if (given !== asked.current) setText(given);
    asked.current = given;
  }, [given]);
  useEffect(() => {
    if (text.trim() === given) return;
    const timer = setTimeout(() => {
      asked.current = text.trim();
      setQuery({ [name]: asked.current });
    }, 300);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <TextField
      type="search"
      label={label}
      placeholder={placeholder}
      mono
      value={text}
      onChange={setText}
    />
  );
}

function Filters({ apps }: { apps: App[] }) {
  const given = query.value;
  const any = { value: '', title: 'Any' };
  return (
    <FilterCard set={filterNames.some(name => given.get(name))}>
      <div class="filters">
        <SearchField name="rewardId" label="RewardId" placeholder="Whole id" />
        <SearchField name="panelistId" label="PanelistId" placeholder="Whole id" />
        <SelectField
          label="State"
          value={given.get('state') ?? ''}
          items={[any, ...callbackStates.map(value => ({ value: value as string, title: value }))]}
          onChange={state => setQuery({ state })}
        />
        <SelectField
          label="Type"
          value={given.get('rewardType') ?? ''}
          items={[
            any,
            ...rewardTypes.map(value => ({
              value: value as string,
              title: typeTitles[value],
            })),
          ]}
          onChange={rewardType => setQuery({ rewardType })}
        />
        {apps.length > 1 && (
          <SelectField
            label="App"
            value={given.get('appId') ?? ''}
            items={[
              any,
              ...apps.map(app => ({
                value: app.AppId,
                title: app.Name || app.AppId,
              })),
            ]}
            onChange={appId => setQuery({ appId })}
          />
        )}
        <TextField
          label="Accepted from (UTC)"
          type="datetime-local"
          value={given.get('from') ?? ''}
          onChange={from => setQuery({ from })}
        />
        <TextField
          label="Accepted before (UTC)"
          type="datetime-local"
          value={given.get('to') ?? ''}
          onChange={to => setQuery({ to })}
        />
      </div>
    </FilterCard>
  );
}

/** Sends those that were picked again, one after the other, and says how far it is. One that cannot
 * be sent any more (409: its body is gone) stops none of the others. */
function ResendPicked({ picked, onDone }: { picked: string[]; onDone: (unsent: string[]) => void }) {
  const [done, setDone] = useState<number | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [gone, setGone] = useState<string[]>([]);
  const run = async () => {
    const unsent: string[] = [];
    setProblem(null);
    setGone(unsent);
    for (const [i, rewardId] of picked.entries()) {
      setDone(i);
      try {
        await post(`${callbackPath(rewardId)}/resend`);
      } catch (error) {
        if ((error as Problem).status !== 409) {
          setProblem(error as Problem);
          setDone(null);
          return;
        }
        unsent.push(rewardId);
      }
    }
    setDone(null);
    setGone(unsent);
    say(`${picked.length - unsent.length} sent again.`);
    onDone(unsent); /* those that were sent are not picked any more */
  };
  return (
    <>
      <ProblemNotice problem={problem} />
      {gone.length > 0 && (
        <Notice title="Not sent">
          The bodies of these are no longer stored: {gone.join(', ')}. Open one to see why.
        </Notice>
      )}
      {done !== null && (
        <progress class="progress" value={done} max={picked.length} aria-label="Sent again" />
      )}
      <Button kind="primary" size="small" busy={done !== null} onClick={() => void run()}>
        Resend {picked.length}
      </Button>
    </>
  );
}

interface Picking {
  picked: string[];
  pick: (id: string, on: boolean) => void;
}

function columnsFor(
  { picked, pick }: Picking,
  apps: App[],
  health: AccountEndpoints | null,
): Column<Callback>[] {
  const nameOf = (id: string) => apps.find(app => app.AppId === id)?.Name || id;
  const columns: Column<Callback>[] = [
    {
      title: 'RewardId',
      heads: true,
      cell: row => (
        <a class="mono" href={callbackPage(row.RewardId)}>
          {row.RewardId}
        </a>
      ),
    },
    {
      title: 'State',
      tight: true,
      cell: row => <Progress row={row} held={heldBy(row, health)} />,
    },
    {
      title: 'Last result',
      cell: row => <Result row={row} held={heldBy(row, health)} />,
    },
    {
      title: 'App and type',
      cell: row => (
        <>
          <div>{nameOf(row.AppId)}</div>
          <div class="small quiet">{typeTitles[row.RewardType]}</div>
        </>
      ),
    },
    { title: 'PanelistId', cell: row => <span class="mono">{row.PanelistId}</span> },
    { title: 'Reward', right: true, cell: row => <Amount amount={row.Reward} /> },
    { title: 'Accepted', tight: true, cell: row => <Time at={row.CreatedAt} short /> },
  ];
  if (!may('callbacks:write')) return columns;
  return [
    {
      title: 'Select',
      tight: true,
      cell: row => (
        <input
          type="checkbox"
          aria-label={`Select ${row.RewardId}`}
          checked={picked.includes(row.RewardId)}
          onChange={event => pick(row.RewardId, event.currentTarget.checked)}
        />
      ),
    },
    ...columns,
  ];
}

export function CallbacksPage() {
  const filters = asked();
  const filtered = filterNames.some(name => query.value.get(name));
  const list = useList<Callback>('/api/v1/callbacks', filters, { live: true });
  const apps = useApps();
  const health = useResource<AccountEndpoints>('/api/v1/endpoints', {}, { everyMs: 10_000 });
  const [picked, setPicked] = useState<string[]>([]);
  const [recovering, setRecovering] = useState(false);
  const pick = (id: string, on: boolean) =>
    setPicked(old => (on ? [...old, id] : old.filter(other => other !== id)));
  const shown = new Set(list.data?.map(row => row.RewardId));
  const stillThere = picked.filter(id => shown.has(id));
  return (
    <div class="page">
      <PageHead
        title="Callbacks"
        text="Every callback that your panelists’ rewards owe you, newest first."
      >
        {may('callbacks:write') && (
          <Button onClick={() => setRecovering(true)}>Resend a range</Button>
        )}
      </PageHead>
      <RecoveryProgress onProgress={list.reload} />
      <Filters apps={apps} />
      <ProblemNotice problem={list.problem} retry={list.reload} />
      <Card
        title="Log"
        flush
        actions={
          stillThere.length > 0 && (
            <ResendPicked
              picked={stillThere}
              onDone={unsent => {
                setPicked(unsent);
                list.reload();
              }}
            />
          )
        }
      >
        {!list.data && list.loading && <Loading what="Reading the log" />}
        {list.data?.length === 0 &&
          (filtered ? (
            <Empty
              title="No callback matches"
              action={
                <Button
                  onClick={() => setQuery(Object.fromEntries(filterNames.map(n => [n, null])))}
                >
                  Clear the search
                </Button>
              }
            >
              Ids are matched whole. An event that never reached us has no callback: ask the
              operator whether it was reported.
            </Empty>
          ) : (
            <Empty title="No callbacks yet" action={<a href="/console">Send a test callback</a>}>
              They appear here as soon as a panelist finishes a survey or an offer.
            </Empty>
          ))}
        {list.data && list.data.length > 0 && (
          <Table
            label="Callbacks"
            rows={list.data}
            rowKey={row => row.RewardId}
            columns={columnsFor({ picked, pick }, apps, health.data)}
          />
        )}
        {list.more && (
          <div class="table-foot">
            <span class="quiet">{list.data?.length} shown</span>
            <Button size="small" onClick={list.loadMore}>
              Show more
            </Button>
          </div>
        )}
      </Card>
      {recovering && <RecoverDialog apps={apps} onClose={() => setRecovering(false)} />}
    </div>
  );
}
