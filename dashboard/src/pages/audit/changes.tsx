// What a change has changed, member by member: what it was, and what it is.
import { printJson } from '../../lib/json';

type Members = Record<string, unknown> | null;

export interface Change {
  name: string;
  before: unknown;
  after: unknown;
}

/** Members that differ; all of them where there was nothing before or is nothing after. */
export function changesOf(before: Members, after: Members): Change[] {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  return names
    .map(name => ({ name, before: before?.[name], after: after?.[name] }))
    .filter(change => printJson(change.before) !== printJson(change.after));
}

const inWords = (value: unknown) => (typeof value === 'string' ? value : printJson(value));

export function Changes({ changes }: { changes: Change[] }) {
  return (
    <dl class="changes">
      {changes.map(({ name, before, after }) => [
        <dt key={name}>{name}</dt>,
        <dd key={`${name}:`}>
          {before !== undefined && (
            <del>
              <span class="unseen">before: </span>
              {inWords(before)}
            </del>
          )}
          {before === undefined && <span>{inWords(after)}</span>}
          {before !== undefined && after !== undefined && (
            <ins>
              <span class="unseen">after: </span>
              {inWords(after)}
            </ins>
          )}
        </dd>,
      ])}
    </dl>
  );
}
