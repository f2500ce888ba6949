// How callbacks are sent, beside their URLs: the format, the URLs that receivers of other networks
// read, and the request that comes of what is entered, as the daemon would send it.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { may } from '../../app/session';
import { path, post, Problem } from '../../lib/http';
import type { App, Attempt, RewardType } from '../../lib/types';
import { Button, Code } from '../../ui/basics';
import { CheckField, SelectField } from '../../ui/forms';
import { requestText } from '../callbacks/callback';
import { sentBody } from '../callbacks/curl';
import { presets } from './presets';
import type { Draft } from './settings';

const formats = [
  { value: 'json', title: 'POST of JSON' },
  { value: 'form', title: 'POST of a form' },
  { value: 'get', title: 'GET' },
] as const;

export const formatValues = ({ RequestFormat, TrimDecimals }: App) => ({
  RequestFormat,
  TrimDecimals,
});

type UrlName = 'SuccessCallbackUrl' | 'FailureCallbackUrl' | 'OfferCallbackUrl';

interface Props {
  app: App;
  draft: Draft;
  /** The URLs of the card, each with a type that is sent to it. */
  urls: Partial<Record<UrlName, RewardType>>;
  /** Further fields that the preview shows the effect of. */
  children?: ComponentChildren;
}

type Shown = Pick<Attempt, 'Method' | 'Url' | 'RequestHeaders' | 'RequestBody'> & { Body: string };

function Preview({ app, draft, urls }: Props) {
  const [shown, setShown] = useState<{ of: string; requests: [UrlName, Shown][] } | null>(null);
  const asked = (Object.keys(urls) as UrlName[])
    .filter(name => draft.text(name).trim())
    .map(name => {
      const url = draft.text(name).trim();
      const body = {
        RewardType: urls[name],
        PanelistId: 'test-user-1',
        Url: url === app[name] ? undefined : url, // of its own one a password is not shown
        RequestFormat: draft.text('RequestFormat'),
        TrimDecimals: draft.on('TrimDecimals'),
        NumericOfferGoalId: draft.on('NumericOfferGoalId'), // off on the card of surveys
        Send: false,
      };
      return [name, body] as const;
    });
  const of = JSON.stringify(asked);
  const ask = async (name: UrlName, body: object): Promise<[UrlName, Shown]> => {
    try {
      return [name, await post<Shown>(path`/api/v1/apps/${app.AppId}/test-callback`, body)];
    } catch (error) {
      if (error instanceof Problem)
        for (const one of error.errors) if (one.Field === 'Url') one.Field = name;
      throw error;
    }
  };
  const preview = () =>
    draft.run(async () => {
      const requests: [UrlName, Shown][] = [];
      for (const [name, body] of asked) requests.push(await ask(name, body));
      setShown({ of, requests });
    });
  if (!may('apps:write') || !may('callbacks:write')) return null;
  return (
    <>
      <div class="row">
        <Button size="small" disabled={!asked.length} onClick={preview}>
          Preview
        </Button>
        <span class="quiet small">Shows the exact request. Nothing is sent.</span>
      </div>
      <div class="stack-small" aria-live="polite">
        {shown?.of === of &&
          shown.requests.map(([name, request]) => (
            <Code
              key={name}
              title={`Request to ${name}`}
              text={requestText(request, sentBody(request, request.Body))}
            />
          ))}
      </div>
    </>
  );
}

export function FormatFields(props: Props) {
  const { draft, urls } = props;
  const filled = Object.keys(urls).filter(name => draft.text(name).trim());
  const names = Object.keys(presets);
  const fill = (preset: string) => {
    if (!preset) return;
    draft.set('RequestFormat', 'get');
    for (const name of filled)
      draft.set(
        name,
        draft
          .text(name)
          .trim()
          .replace(/(\/\{PanelistId\})?(\?.*)?$/, () => presets[preset]!),
      );
  };
  const isSet = (name: string) => filled.every(url => draft.text(url).endsWith(presets[name]!));
  return (
    <>
      <div class="grid-2">
        <SelectField
          label="Request format"
          hint="Every format can have macros such as {PanelistId} and {Reward} in its URLs. Applies to all three URLs of the app."
          items={formats}
          {...draft.field('RequestFormat')}
        />
        <SelectField
          label="Receiver written for"
          hint="Sets GET, and the query that receivers of this network read."
          value={(filled.length && names.find(isSet)) || ''}
          items={['', ...names].map(value => ({ value, title: value || 'No other network' }))}
          onChange={fill}
          disabled={!filled.length}
        />
      </div>
      <CheckField
        label="Trim decimals"
        hint="Sends 72 instead of 72.00, and 72.5 instead of 72.50."
        checked={draft.on('TrimDecimals')}
        onChange={on => draft.set('TrimDecimals', on)}
      />
      {props.children}
      <Preview {...props} />
    </>
  );
}
