// The log of callbacks: search, and sending again what did not arrive.
import { useState } from 'preact/hooks';
import { everyItem, useRead, useResource } from '../../app/resource';
import { may, partnerId } from '../../app/session';
import { path, withQuery } from '../../lib/http';
import type { AccountEndpoints, App, Callback, List } from '../../lib/types';
import { Button, Card, Empty, LinkButton, PageHead, ProblemNotice } from '../../ui/basics';
import type { Column } from '../../ui/table';
import { asked, clearFilters, Filters, isFiltered } from './filters';
import { ResendAnswers, type Resent } from './answer';
import { useLog, type Log } from './log';
import { callbackPage } from './paths';
import { RecoverDialog, RecoveryProgress } from './recover';
import { ResendingState, ResendMatching, useResending } from './resend';
import { columnsFor, LogRows } from './rows';

function useApps(): App[] {
  const { data } = useRead(may('apps:read') ? `apps ${partnerId()}` : null, signal =>
    everyItem<App>(path`/api/v1/partners/${partnerId()}/apps`, {}, signal),
  );
  return data ?? [];
}

interface Picking {
  picked: string[];
  pick: (id: string, on: boolean) => void;
}

function pickColumn({ picked, pick }: Picking): Column<Callback>[] {
  if (!may('callbacks:write')) return [];
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
  ];
}

const linkTo = ({ RewardId }: Callback) => (
  <a class="mono" title={RewardId} href={callbackPage(RewardId)}>
    <bdi>{RewardId}</bdi>
  </a>
);

function NoRows() {
  return isFiltered() ? (
    <Empty
      title="No callback matches"
      action={<Button onClick={clearFilters}>Clear the search</Button>}
    >
      Enter complete ids. An event that was never reported has no callback: ask the operator.
    </Empty>
  ) : (
    <Empty title="No callbacks yet" action={<a href="/console">Send a test callback</a>}>
      They appear here as soon as a panelist finishes a survey or an offer.
    </Empty>
  );
}

function Following({ log }: { log: Log<List<Callback>> }) {
  return (
    <span class="row" aria-live="off">
      {log.following ? 'Live' : log.stopped === 'button' ? 'Paused' : 'Paused while you read'}
      <Button kind="plain" size="small" onClick={log.following ? log.pause : log.follow}>
        {log.following ? 'Pause' : log.stopped === 'button' ? 'Follow live' : 'Show newest'}
      </Button>
    </span>
  );
}

/** Selecting, and what is done with it. */
function Actions(props: {
  rows: Callback[];
  picked: string[];
  setPicked: (ids: string[]) => void;
  onSent: (resent: Resent[]) => void;
}) {
  const { rows, picked, setPicked, onSent } = props;
  const [matching, setMatching] = useState(false);
  const resending = useResending((unsent, sent) => {
    setPicked(unsent);
    onSent(sent);
  });
  // What was begun stays, though the last row may leave the log meanwhile.
  const isBegun = matching || resending.busy;
  if (!may('callbacks:write') || (!rows.length && !isBegun)) return null;
  return (
    <>
      <ResendingState resending={resending} of={picked.length} />
      {picked.length > 0 ? (
        <>
          <Button size="small" onClick={() => setPicked([])}>
            Clear selection
          </Button>
          <Button
            kind="primary"
            size="small"
            busy={resending.busy}
            onClick={() => void resending.run(picked)}
          >
            Resend {picked.length}
          </Button>
        </>
      ) : (
        <>
          <Button size="small" onClick={() => setPicked(rows.map(row => row.RewardId))}>
            Select the {rows.length} shown
          </Button>
          <Button size="small" onClick={() => setMatching(true)}>
            Resend all matching
          </Button>
        </>
      )}
      {matching && <ResendMatching onClose={() => setMatching(false)} onDone={() => onSent([])} />}
    </>
  );
}

export function CallbacksPage() {
  const apps = useApps();
  const health = useResource<AccountEndpoints>('/api/v1/endpoints', {}, { everyMs: 10_000 });
  const [picked, setPicked] = useState<string[]>([]);
  const list = useLog({ ...asked(), bodies: false }, picked.length > 0);
  const [resent, setResent] = useState<Resent[]>([]);
  const [recovering, setRecovering] = useState(false);
  const pick = (id: string, on: boolean) =>
    setPicked(old => (on ? [...old, id] : old.filter(other => other !== id)));
  const rows = list.data ?? [];
  const shown = new Set(rows.map(row => row.RewardId));
  return (
    <div class="page">
      <PageHead title="Callbacks" text="Callbacks for your panelists’ rewards, newest first.">
        <LinkButton href="/api/v1/rewards?format=csv" download="rewards.csv">
          Download rewards (CSV)
        </LinkButton>
        <LinkButton
          href={withQuery('/api/v1/callbacks', { ...asked(), format: 'csv' })}
          download="callbacks.csv"
        >
          Download this log (CSV)
        </LinkButton>
        {may('callbacks:write') && (
          <Button onClick={() => setRecovering(true)}>Resend a range</Button>
        )}
      </PageHead>
      <RecoveryProgress onProgress={list.reload} />
      <Filters apps={apps} />
      <ProblemNotice problem={list.problem} retry={list.reload} />
      <Card
        title="Log"
        text={<Following log={list} />}
        flush
        actions={
          <Actions
            rows={rows}
            picked={picked.filter(id => shown.has(id))}
            setPicked={setPicked}
            onSent={sent => {
              setResent(sent);
              list.reload();
            }}
          />
        }
      >
        <ResendAnswers resent={resent} onClose={() => setResent([])} />
        <LogRows
          log={list}
          none={<NoRows />}
          columns={[
            ...pickColumn({ picked, pick }),
            ...columnsFor({
              link: linkTo,
              nameOf: id => apps.find(app => app.AppId === id)?.Name || id,
              health: health.data,
            }),
          ]}
        />
      </Card>
      {recovering && <RecoverDialog apps={apps} onClose={() => setRecovering(false)} />}
    </div>
  );
}
