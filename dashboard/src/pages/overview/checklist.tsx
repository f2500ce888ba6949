// The first day of an account, step by step, as far as the account itself shows it: each step that
// is still to be done links to where it is done. It goes when all are, or when somebody hides it.
import { useEffect, useState } from 'preact/hooks';
import { everyItem, useRead } from '../../app/resource';
import { may, me, partnerId } from '../../app/session';
import { get, path } from '../../lib/http';
import type { App, Callback, Client, List } from '../../lib/types';
import { Button, Card, ProblemNotice } from '../../ui/basics';
import { Icon } from '../../ui/icons';

interface Step {
  title: string;
  done: boolean;
  href: string;
}

const urlsOf = (app: App) =>
  app.SuccessCallbackUrl || app.FailureCallbackUrl || app.OfferCallbackUrl;

/** A new account has few; whoever has many must not spend its reads on this. */
const appsMost = 20;

/** Whether any of the first apps has a client: app by app, until one has. */
async function hasClient(apps: App[], signal: AbortSignal): Promise<boolean> {
  for (const { AppId } of apps.slice(0, appsMost)) {
    const query = { limit: 1 };
    const { Items } = await get<List<Client>>(path`/api/v1/apps/${AppId}/clients`, query, signal);
    if (Items.length) return true;
  }
  return false;
}

async function hasHappened(action: string, signal: AbortSignal): Promise<boolean> {
  const { Items } = await get<List<unknown>>('/api/v1/audit', { action, limit: 1 }, signal);
  return Items.length > 0;
}

async function hasDelivered(signal: AbortSignal): Promise<boolean> {
  const query = { state: 'delivered', limit: 50, bodies: 'false' };
  const { Items } = await get<List<Callback>>('/api/v1/callbacks', query, signal);
  return Items.some(one => !one.IsTest);
}

async function readSteps(signal: AbortSignal): Promise<Step[]> {
  const apps = await everyItem<App>(path`/api/v1/partners/${partnerId()}/apps`, {}, signal);
  const app = apps.find(urlsOf) ?? apps[0];
  const [client, tested, checked, delivered] = await Promise.all([
    hasClient(app ? [app, ...apps.filter(one => one !== app)] : [], signal),
    hasHappened('app.test_sent', signal),
    hasHappened('app.secret_checked', signal),
    hasDelivered(signal),
  ]);
  const of = (tab: string) => (app ? path`/apps/${app.AppId}/` + tab : '/apps');
  const console = (more: string) => (app ? path`/console?app=${app.AppId}` + more : '/apps');
  return [
    { title: 'Create an app', done: !!app, href: '/apps' },
    { title: 'Add a client', done: client, href: of('clients') },
    { title: 'Set a callback URL', done: !!app && !!urlsOf(app), href: of('postback') },
    { title: 'Send a test callback', done: tested, href: console('') },
    {
      title: 'Check the secret your server uses',
      done: checked,
      href: console('&do=verify&check=secret'),
    },
    { title: 'Receive the first real callback', done: delivered, href: '/callbacks' },
  ];
}

const nameOf = () => `first day ${me.value?.User.UserId} ${partnerId()}`;

function StepLine({ step }: { step: Step }) {
  return (
    <li class={step.done ? 'done' : ''}>
      <Icon name={step.done ? 'check' : 'next'} />
      <a href={step.href}>{step.title}</a>
      <span class={step.done ? 'unseen' : 'quiet small'}>{step.done ? 'done' : 'to do'}</span>
    </li>
  );
}

export function ChecklistCard() {
  const [over, setOver] = useState(() => localStorage.getItem(nameOf()) !== null);
  const isShown = !over && may('apps:write') && may('audit:read');
  const { data, problem, reload } = useRead(isShown ? `steps ${partnerId()}` : null, readSteps, {
    live: true,
    everyMs: 30_000,
    atMostEveryMs: 10_000,
  });
  const left = data?.filter(step => !step.done).length;
  const end = () => {
    localStorage.setItem(nameOf(), 'over');
    setOver(true);
  };
  useEffect(() => {
    if (left === 0) end();
  }, [left]);
  if (!isShown || (!data && !problem)) return null;
  return (
    <Card
      title="Get started"
      text={data && `${data.length - left!} of ${data.length} steps done.`}
      actions={
        <Button size="small" onClick={end}>
          Hide
        </Button>
      }
    >
      <ProblemNotice problem={problem} retry={reload} />
      {data && (
        <ol class="steps">
          {data.map(step => (
            <StepLine key={step.title} step={step} />
          ))}
        </ol>
      )}
    </Card>
  );
}
