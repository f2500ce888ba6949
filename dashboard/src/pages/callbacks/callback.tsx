// One callback: where it stands, every attempt, and what to do.
import { useState } from 'preact/hooks';
import type { PageProps } from '../../app/routes';
import { useResource } from '../../app/resource';
import { may, serverNow } from '../../app/session';
import { duration } from '../../lib/dates';
import { path } from '../../lib/http';
import { parseJson, printJson } from '../../lib/json';
import type { AccountEndpoints, Attempt, Callback } from '../../lib/types';
import {
  Badge,
  Button,
  Card,
  Code,
  Empty,
  Facts,
  Loading,
  Notice,
  PageHead,
  ProblemNotice,
  Time,
} from '../../ui/basics';
import { useSending } from '../../ui/forms';
import { Amount, Usd } from '../../ui/money';
import { resend, ResendAnswer, type Resent } from './answer';
import { CurlButton, sentBody } from './curl';
import { Forwards } from './forwards';
import { callbackPage, callbackPath } from './paths';
import { logHref } from './log';
import { EndpointLink, heldBy, stateOf } from './progress';
import { isHeldBack, standing, typeTitles, whatToDo, whyGivenUp } from './words';

function headerText(headers: Record<string, string> | null): string {
  return Object.entries(headers ?? {})
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
}

/** Pretty where it is JSON, as it came otherwise. */
function readable(text: string): string {
  try {
    return printJson(parseJson(text), '  ');
  } catch {
    return text;
  }
}

export function AttemptResult({ attempt }: { attempt: Attempt }) {
  return attempt.Class === null ? (
    <Badge tone="good">{attempt.Status ?? 'ok'}</Badge>
  ) : (
    <Badge tone="bad">
      {attempt.Class === 'status' ? attempt.Status : attempt.Class.replace(/_/g, ' ')}
    </Badge>
  );
}

/** A request as it goes over the wire, but for its address. */
export function requestText(
  { Method, Url, RequestHeaders }: Pick<Attempt, 'Method' | 'Url' | 'RequestHeaders'>,
  body: string | null,
): string {
  return `${Method} ${Url ?? ''}\n${headerText(RequestHeaders)}${body === null ? '' : `\n\n${body}`}`;
}

interface ExchangeProps {
  attempt: Attempt;
  body: string | null;
  /** The body is shown elsewhere. */
  headOnly?: boolean;
}

export function AttemptExchange({ attempt, body, headOnly }: ExchangeProps) {
  const sent = headOnly ? attempt.RequestBody : sentBody(attempt, body);
  const response = attempt.Status
    ? `${attempt.Status}\n${headerText(attempt.ResponseHeaders)}`
    : headerText(attempt.ResponseHeaders);
  return (
    <div class="grid-2">
      <div class="stack-small">
        <Code
          title="Request"
          text={requestText(attempt, sent)}
          actions={<CurlButton attempt={attempt} body={body} />}
        />
      </div>
      <div class="stack-small">
        {response || attempt.ResponseBody ? (
          <Code
            title="Response"
            text={`${response}${attempt.ResponseBody ? `\n\n${attempt.ResponseBody}` : ''}`}
          />
        ) : (
          <p class="quiet">No response.</p>
        )}
      </div>
    </div>
  );
}

function AttemptEntry(props: { attempt: Attempt; body: string | null; newest: boolean }) {
  const { attempt } = props;
  return (
    <li class="attempt stack-small">
      <div class="row apart">
        <div class="row">
          <h3>Attempt {attempt.Number}</h3>
          <AttemptResult attempt={attempt} />
          {attempt.Manual && <Badge>resent manually</Badge>}
        </div>
        <div class="quiet small">
          <Time at={attempt.At} /> · took {duration(attempt.DurationMs)}
        </div>
      </div>
      {attempt.Class !== null && (
        <Notice tone="bad" title={attempt.Detail ?? attempt.Class}>
          {whatToDo(attempt)}
        </Notice>
      )}
      <details open={props.newest}>
        <summary>Request and response</summary>
        <AttemptExchange attempt={attempt} body={props.body} headOnly />
      </details>
    </li>
  );
}

/** Why there is no attempt: what holds its endpoint, or when the first one is due. */
function NoAttempt({ callback }: { callback: Callback }) {
  const isPending = callback.State === 'pending';
  const health = useResource<AccountEndpoints>(
    isPending ? '/api/v1/endpoints' : null,
    {},
    { everyMs: 10_000 },
  );
  const held = heldBy(callback, health.data);
  if (callback.AttemptCount)
    return (
      <Empty title="Attempts no longer stored">The operator sets how long they are kept.</Empty>
    );
  if (!isPending)
    return <Empty title="No attempt">{callback.State === 'dead' && whyGivenUp(callback)}</Empty>;
  return (
    <Empty title="No attempt yet">
      {held ? (
        <>
          Endpoint: <EndpointLink row={callback} held={held} />
          since <Time at={held.since} short ago />. {held.error}
        </>
      ) : (
        <>
          {isHeldBack(callback, serverNow()) ? 'It was due ' : 'The first one is due '}
          <Time at={callback.NextAttemptAt} short ago />.
        </>
      )}
    </Empty>
  );
}

function Attempts({ callback }: { callback: Callback }) {
  const attempts = [...(callback.Attempts ?? [])].reverse();
  return (
    <Card title="Attempts" text="Newest first." flush>
      {attempts.length ? (
        <ol class="attempts">
          {attempts.map((attempt, i) => (
            <AttemptEntry
              key={attempt.Number}
              attempt={attempt}
              body={callback.Body}
              newest={i === 0}
            />
          ))}
        </ol>
      ) : (
        <NoAttempt callback={callback} />
      )}
    </Card>
  );
}

function About({ callback }: { callback: Callback }) {
  return (
    <Card title="Details">
      <Facts
        items={[
          ['Type', typeTitles[callback.RewardType]],
          [
            'PanelistId',
            <a href={`/callbacks?panelistId=${encodeURIComponent(callback.PanelistId)}`}>
              <code>{callback.PanelistId}</code>
            </a>,
          ],
          [
            'App',
            may('apps:read') ? (
              <a href={path`/apps/${callback.AppId}`}>{callback.AppId}</a>
            ) : (
              callback.AppId
            ),
          ],
          ['Client', callback.ClientId],
          ['Reward', <Amount amount={callback.Reward} />],
          ['Revenue', <Usd amount={callback.RevenueAmount} />],
          ['Event time', <Time at={callback.Timestamp} />],
          ['Accepted', <Time at={callback.CreatedAt} />],
          ...(callback.NextAttemptAt
            ? ([['Next attempt', <Time at={callback.NextAttemptAt} ago />]] as [
                string,
                preact.ComponentChild,
              ][])
            : []),
          ['URL', callback.Url ? <code>{callback.Url}</code> : 'Not set'],
          ...(callback.OriginalRewardId
            ? ([
                [
                  'Reverses',
                  <a href={callbackPage(callback.OriginalRewardId)}>{callback.OriginalRewardId}</a>,
                ],
              ] as [string, preact.ComponentChild][])
            : []),
          ...(callback.ReasonGiven
            ? ([['Reason given', callback.ReasonGiven]] as [string, string][])
            : []),
        ]}
      />
    </Card>
  );
}

function Body({ callback }: { callback: Callback }) {
  const last = callback.Attempts?.[callback.Attempts.length - 1];
  const isJson = !last || (last.Method === 'POST' && last.RequestBody === null);
  const what = isJson ? 'Exactly as sent' : 'The fields of the callback as JSON';
  return (
    <Card
      title="Body"
      text={
        may('apps:write')
          ? `${what}, with the Sig of the current secret.`
          : `${what}, except Sig: your role cannot see it.`
      }
    >
      {callback.Body === null ? (
        <Notice>The body is no longer stored.</Notice>
      ) : (
        <>
          <Code title={isJson ? 'As sent' : 'As JSON'} text={callback.Body} />
          <details>
            <summary>Formatted</summary>
            <Code title="Formatted" text={readable(callback.Body)} lines />
          </details>
        </>
      )}
    </Card>
  );
}

function State({ callback }: { callback: Callback }) {
  const { tone, title } = stateOf(callback, null);
  return <Badge tone={tone}>{title}</Badge>;
}

export function CallbackPage({ params }: PageProps) {
  const id = params['RewardId']!;
  const { data, problem, reload } = useResource<Callback>(callbackPath(id), {}, { live: true });
  const sending = useSending();
  const [resent, setResent] = useState<Resent | null>(null);
  const send = () =>
    sending.run(async () => {
      setResent(null);
      setResent(await resend(id, true));
      reload();
    });
  return (
    <div class="page">
      <PageHead
        title={id}
        crumb={{ href: logHref(), title: 'Callbacks' }}
        text={data ? standing(data, serverNow()) : undefined}
      >
        {data && <State callback={data} />}
        {data?.IsTest && <Badge>test</Badge>}
        {data && may('callbacks:write') && (
          <Button kind="primary" busy={sending.busy} onClick={send}>
            Resend
          </Button>
        )}
      </PageHead>
      <ProblemNotice problem={problem ?? sending.problem} retry={problem ? reload : undefined} />
      {resent && <ResendAnswer resent={resent} />}
      {!data && !problem && <Loading />}
      {data && (
        <div class="grid-aside">
          <div class="stack">
            <Attempts callback={data} />
            <Forwards rewardId={id} />
          </div>
          <div class="stack aside">
            <About callback={data} />
            <Body callback={data} />
          </div>
        </div>
      )}
    </div>
  );
}
