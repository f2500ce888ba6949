// What the log is asked for: the filters, kept in the address.
import { useEffect, useRef, useState } from 'preact/hooks';
import { query, setQuery } from '../../app/router';
import type { Query } from '../../lib/http';
import { callbackStates, rewardTypes, type App } from '../../lib/types';
import { FilterCard } from '../../ui/filters';
import { SelectField, TextField } from '../../ui/forms';
import { errorTitles, typeTitles } from './words';

export const filterNames = [
  'rewardId',
  'panelistId',
  'rewardType',
  'state',
  'class',
  'status',
  'appId',
  'from',
  'to',
] as const;

export const isFiltered = () => filterNames.some(name => query.value.get(name));
export const clearFilters = () => setQuery(Object.fromEntries(filterNames.map(n => [n, null])));

/** A minute of a datetime-local field is meant in UTC. */
function asTime(minute: string | null): string | null {
  return minute ? `${minute}:00Z` : null;
}

/** What the interface is asked. */
export function asked(): Query {
  const given = query.value;
  return {
    ...Object.fromEntries(filterNames.map(name => [name, given.get(name)])),
    from: asTime(given.get('from')),
    to: asTime(given.get('to')),
  };
}

const stateItems = [
  { value: '', title: 'Any' },
  { value: 'failing', title: 'failing (tried, not delivered yet)' },
  ...callbackStates.map(value => ({
    value: value as string,
    title: value === 'pending' ? 'pending (failing included)' : value,
  })),
];

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

/** apps: those to choose among; null: an app is named by its id. */
export function Filters({ apps }: { apps: App[] | null }) {
  const given = query.value;
  const any = { value: '', title: 'Any' };
  return (
    <FilterCard set={isFiltered()}>
      <div class="filters">
        <SearchField name="rewardId" label="RewardId" placeholder="Complete id" />
        <SearchField name="panelistId" label="PanelistId" placeholder="Complete id" />
        <SelectField
          label="State"
          value={given.get('state') ?? ''}
          items={stateItems}
          onChange={state => setQuery({ state })}
        />
        <SelectField
          label="Last error"
          value={given.get('class') ?? ''}
          items={[
            any,
            { value: 'any', title: 'Any error' },
            ...Object.entries(errorTitles).map(([value, title]) => ({ value, title })),
          ]}
          onChange={name => setQuery({ class: name })}
        />
        <SearchField name="status" label="Last status" placeholder="404" />
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
        {!apps && <SearchField name="appId" label="AppId" placeholder="Complete id" />}
        {apps && apps.length > 1 && (
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
