// Erasing a panelist: what there is, a confirmation that is typed, and what came of it. The id stays
// out of the address, so that neither history nor logs keep it.
import { useState } from 'preact/hooks';
import { may } from '../../app/session';
import { get, post } from '../../lib/http';
import type { Callback, List } from '../../lib/types';
import { Button, Card, Empty, Facts, Notice, PageHead, ProblemNotice, Time } from '../../ui/basics';
import { Chosen } from '../../ui/chosen';
import { Form, TextField, useSending } from '../../ui/forms';
import { countOf } from '../../ui/money';
import { Dialog } from '../../ui/overlay';

const listedMost = 500;

interface Preview {
  panelist: string;
  /** Null: this role may not read callbacks. */
  found: List<Callback> | null;
}

async function look(panelist: string): Promise<Preview> {
  if (!may('callbacks:read')) return { panelist, found: null };
  const query = { panelistId: panelist, limit: listedMost, bodies: false };
  return { panelist, found: await get<List<Callback>>('/api/v1/callbacks', query) };
}

function Found({ Items, Next }: List<Callback>) {
  if (!Items.length)
    return (
      <Notice tone="warn" title="No callback of this panelist">
        The id must match exactly. Survey starts are not listed here, but are erased as well.
      </Notice>
    );
  const unsent = Items.filter(one => one.State === 'pending' || one.State === 'delivering').length;
  const some = Next ? ' of the newest' : '';
  return (
    <Facts
      items={[
        ['Found', `${Next ? 'More than ' : ''}${countOf(Items.length, 'callback')}`],
        ['Apps', [...new Set(Items.map(one => one.AppId))].sort().join(', ')],
        ['Newest', <Time at={Items[0]!.CreatedAt} />],
        [Next ? `Oldest${some}` : 'Oldest', <Time at={Items.at(-1)!.CreatedAt} />],
        [
          'Not sent yet',
          unsent ? `${countOf(unsent, 'callback')}${some}: not sent once erased` : `None${some}`,
        ],
      ]}
    />
  );
}

function EraseDialog(props: {
  panelist: string;
  onClose: () => void;
  onErased: (events: number) => void;
}) {
  const { panelist, onClose, onErased } = props;
  const [typed, setTyped] = useState('');
  const sending = useSending();
  const erase = () =>
    sending.run(async () => {
      const answer = await post<{ Erased: number }>('/api/v1/panelists/erase', {
        PanelistId: panelist,
      });
      onErased(answer.Erased);
    });
  const isSame = typed === panelist;
  return (
    <Dialog title="Erase this panelist?" onClose={onClose}>
      <Form label="Erase" onSend={() => isSame && void erase()}>
        <p>
          This cannot be undone. Callbacks of{' '}
          <span class="mono">
            <Chosen text={panelist} />
          </span>{' '}
          that are not sent yet are never sent.
        </p>
        <TextField
          label="Type the PanelistId to confirm"
          mono
          autofocus
          value={typed}
          onChange={setTyped}
          fault={sending.fault('PanelistId')}
        />
        <ProblemNotice problem={sending.others('PanelistId')} />
        <div class="row end">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="danger" busy={sending.busy} disabled={!isSame}>
            Erase permanently
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

function PreviewCard({ preview, onErase }: { preview: Preview; onErase: () => void }) {
  return (
    <Card
      title={preview.panelist}
      foot={
        <div class="row end">
          <Button kind="danger" onClick={onErase}>
            Erase this panelist
          </Button>
        </div>
      }
    >
      {preview.found ? (
        <Found {...preview.found} />
      ) : (
        <p class="quiet">Your role cannot read callbacks, so there is no preview.</p>
      )}
      <div class="grid-2">
        <div>
          <h3>Erased</h3>
          <ul>
            <li>PanelistId, SessionId and Mid, replaced by a placeholder</li>
            <li>The bodies of callbacks, and headers and bodies of their attempts</li>
            <li>Callbacks that are not sent yet (they are skipped)</li>
          </ul>
        </div>
        <div>
          <h3>Kept</h3>
          <ul>
            <li>RewardId, amounts, days and states: reports and statements do not change</li>
            <li>The audit log entry, without the PanelistId: who erased it and when</li>
            <li>Data in your own systems: erase it there as well</li>
          </ul>
        </div>
      </div>
    </Card>
  );
}

function Erased({ events }: { events: number }) {
  if (!events)
    return (
      <Notice tone="warn" title="Nothing was erased">
        No event has this PanelistId. The id must match exactly: check capitals and spaces.
      </Notice>
    );
  return (
    <Notice tone="good" title={`${countOf(events, 'event')} erased.`}>
      Later events of this panelist are stored again.
    </Notice>
  );
}

export function ErasePage() {
  const [typed, setTyped] = useState('');
  const [preview, setPreview] = useState<Preview | null>(null);
  const [asking, setAsking] = useState(false);
  const [erased, setErased] = useState<number | null>(null);
  const sending = useSending();
  const show = () =>
    sending.run(async () => {
      setPreview(null);
      setErased(null);
      setPreview(await look(typed));
    });
  const done = (events: number) => {
    setAsking(false);
    setPreview(null);
    setTyped('');
    setErased(events);
  };
  return (
    <div class="page">
      <PageHead
        title="Erase a panelist"
        text="Deletes the personal data of one panelist. Amounts stay in reports and statements."
      />
      <Card>
        <Form onSend={() => typed && void show()} label="Find the panelist">
          <TextField
            label="PanelistId"
            mono
            value={typed}
            onChange={setTyped}
            hint="Exactly as in your own system."
          />
          <div class="row end">
            <Button type="submit" busy={sending.busy} disabled={!typed}>
              Preview
            </Button>
          </div>
        </Form>
        <ProblemNotice problem={sending.problem} />
      </Card>
      {erased !== null && <Erased events={erased} />}
      {preview ? (
        <PreviewCard preview={preview} onErase={() => setAsking(true)} />
      ) : (
        erased === null && (
          <Card>
            <Empty title="No panelist selected">
              The preview shows what will be erased and what stays.
            </Empty>
          </Card>
        )
      )}
      {asking && preview && (
        <EraseDialog panelist={preview.panelist} onClose={() => setAsking(false)} onErased={done} />
      )}
    </div>
  );
}
