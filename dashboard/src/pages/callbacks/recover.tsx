// Resending a range: the daemon does it at its own pace, and this shows how far it is, after a
// reload too.
import { signal } from '../../lib/signal';
import { useEffect, useState } from 'preact/hooks';
import { useResource } from '../../app/resource';
import { partnerId, serverNow } from '../../app/session';
import { path, post, remove } from '../../lib/http';
import { dayMs } from '../../lib/dates';
import type { App, CallbackState, Recovery } from '../../lib/types';
import { Button, Card, ProblemNotice } from '../../ui/basics';
import { CheckField, SelectField, TextField, useSending } from '../../ui/forms';
import { count } from '../../ui/money';
import { Dialog } from '../../ui/overlay';

/** How fast, unless somebody says otherwise. */
export const ratePerSecond = 10;

const storedName = () => `recovery ${partnerId()}`;
const running = signal<string | null>(null);

export function follow(id: string | null): void {
  running.value = id;
  if (id) sessionStorage.setItem(storedName(), id);
  else sessionStorage.removeItem(storedName());
}

const minuteOf = (time: Date) => time.toISOString().slice(0, 16);

const offered: { state: CallbackState; label: string; hint: string }[] = [
  { state: 'dead', label: 'Dead', hint: 'Given up.' },
  { state: 'skipped', label: 'Skipped', hint: 'There was no URL, or it was disabled.' },
  { state: 'pending', label: 'Pending', hint: 'Sent now, not at the next attempt.' },
  {
    state: 'delivered',
    label: 'Delivered',
    hint: 'One more attempt each. Your server already has them.',
  },
];

export function RecoverDialog({ apps, onClose }: { apps: App[]; onClose: () => void }) {
  const now = serverNow();
  const [appId, setAppId] = useState('');
  const [from, setFrom] = useState(minuteOf(new Date(now.getTime() - dayMs)));
  const [to, setTo] = useState(minuteOf(new Date(now.getTime() + 60_000)));
  const [states, setStates] = useState<CallbackState[]>(['dead']);
  const [rate, setRate] = useState(String(ratePerSecond));
  const sending = useSending();
  const range = {
    AppId: appId || undefined,
    From: `${from}:00Z`,
    To: `${to}:00Z`,
    States: states,
    RatePerSecond: Number(rate),
  };
  // Whoever changes the range counts again.
  const asked = JSON.stringify(range);
  const [counts, setCounts] = useState<Record<string, number>>({});
  const matched = counts[asked];
  const send = () =>
    sending.run(async () => {
      const { RecoveryId, Matched } = await post<{ RecoveryId: string | null; Matched: number }>(
        '/api/v1/callbacks/recover',
        { ...range, DryRun: matched === undefined }, // a dry run has no RecoveryId
      );
      if (!RecoveryId) return setCounts({ [asked]: Matched });
      follow(RecoveryId);
      onClose();
    });
  const toggle = (state: CallbackState, on: boolean) =>
    setStates(old => (on ? [...old, state] : old.filter(other => other !== state)));
  return (
    <Dialog title="Resend a range" onClose={onClose}>
      <p class="quiet">
        Resends callbacks accepted in this period. RewardId and body stay the same, so your server
        can ignore what it has already credited.
      </p>
      <SelectField
        label="App"
        value={appId}
        onChange={setAppId}
        items={[
          { value: '', title: 'All apps' },
          ...apps.map(app => ({ value: app.AppId, title: app.Name || app.AppId })),
        ]}
      />
      <div class="grid-2">
        <TextField
          label="Accepted from (UTC)"
          type="datetime-local"
          value={from}
          onChange={setFrom}
          fault={sending.fault('From')}
        />
        <TextField
          label="Accepted before (UTC)"
          type="datetime-local"
          value={to}
          onChange={setTo}
          fault={sending.fault('To')}
        />
      </div>
      <div class="stack-small" role="group" aria-label="States">
        {offered.map(one => (
          <CheckField
            key={one.state}
            label={one.label}
            hint={one.hint}
            checked={states.includes(one.state)}
            onChange={on => toggle(one.state, on)}
          />
        ))}
      </div>
      <TextField
        label="At most"
        unit="per second"
        inputMode="numeric"
        value={rate}
        onChange={setRate}
        fault={sending.fault('RatePerSecond')}
        hint="1 to 1000. New callbacks always go first."
      />
      <ProblemNotice problem={sending.others('From', 'To', 'RatePerSecond')} />
      <div class="row end">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          kind="primary"
          busy={sending.busy}
          disabled={!states.length || matched === 0}
          onClick={send}
        >
          {matched === undefined ? 'Count' : `Resend ${count(matched)}`}
        </Button>
      </div>
    </Dialog>
  );
}

/** How far the last recovery of this tab is; nothing when there is none. */
export function RecoveryProgress({ onProgress }: { onProgress: () => void }) {
  useEffect(() => {
    running.value = sessionStorage.getItem(storedName());
  }, []);
  const id = running.value;
  const [done, setDone] = useState(false);
  const { data, problem } = useResource<Recovery>(
    id ? path`/api/v1/recoveries/${id}` : null,
    {},
    { everyMs: done ? 0 : 1000 },
  );
  const resent = data?.Resent;
  useEffect(() => {
    setDone(data?.State === 'done');
    if (resent) onProgress();
  }, [resent, data?.State]);
  if (!id) return null;
  if (problem) {
    if (problem.status === 404) follow(null);
    return problem.status === 404 ? null : <ProblemNotice problem={problem} />;
  }
  if (!data) return null;
  const gone = data.Purged + data.Erased;
  return (
    <Card
      title={
        !data.Matched
          ? 'Nothing to resend'
          : data.State === 'done'
            ? 'Range resent'
            : 'Resending a range'
      }
      actions={
        <Button
          size="small"
          onClick={() => {
            if (data.State === 'running') void remove(path`/api/v1/recoveries/${id}`);
            follow(null);
          }}
        >
          {data.State === 'running' ? 'Stop' : 'Dismiss'}
        </Button>
      }
    >
      <progress
        class="progress"
        value={data.Resent + gone}
        max={data.Matched}
        aria-label="Resent"
      />
      <p class="quiet">
        {count(data.Resent)} of {count(data.Matched)}, at most {data.RatePerSecond} per second.
      </p>
      {gone > 0 && (
        <p class="quiet">
          {count(gone)} cannot be resent: {count(data.Purged)} are too old and their bodies were
          deleted, and {count(data.Erased)} belong to erased panelists.
        </p>
      )}
    </Card>
  );
}
