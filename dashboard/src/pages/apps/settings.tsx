// A card of settings that are saved together: only what was changed is sent, and only if nobody
// else has changed the app meanwhile.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { may } from '../../app/session';
import { Button, Card, ProblemNotice } from '../../ui/basics';
import { useSending } from '../../ui/forms';
import { say } from '../../ui/overlay';
import { changeApp, type TabProps } from './loaded';

type Value = string | boolean | null;

export interface Draft {
  text: (name: string) => string;
  on: (name: string) => boolean;
  set: (name: string, value: Value) => void;
  fault: (name: string) => string | undefined;
  /** What a field of text shows and does. */
  field: (name: string) => {
    value: string;
    onChange: (value: string) => void;
    fault: string | undefined;
  };
  /** Asks something about the draft; what is wrong with it is shown as when it is saved. */
  run: (ask: () => Promise<void>) => Promise<void>;
}

interface Props extends TabProps {
  title: string;
  text?: ComponentChildren;
  /** What the fields hold now; empty text is sent as null where `nullable` names it. */
  values: Record<string, Value>;
  nullable?: string[];
  numeric?: string[];
  /** Texts such as "404, 422" that are sent as lists of numbers. */
  lists?: string[];
  /** A value that is JSON as text, and the members of it that the card shows faults of. */
  json?: { name: string; members: string[] };
  children: (draft: Draft) => ComponentChildren;
}

type Wire = Value | number | object;

/** Whole numbers are sent as numbers; what is no number is sent as it is, and refused by name. */
function numberOr(text: string): string | number {
  return /^\d{1,9}$/.test(text) ? Number(text) : text;
}

function wire(name: string, value: Value, props: Props): Wire {
  if (typeof value !== 'string') return value;
  if (props.json?.name === name) return JSON.parse(value) as object;
  const text = value.trim();
  if (text === '' && props.nullable?.includes(name)) return null;
  if (props.lists?.includes(name))
    return text
      .split(/[\s,;]+/)
      .filter(Boolean)
      .map(numberOr);
  return props.numeric?.includes(name) ? numberOr(text) : text;
}

export function SettingsCard(props: Props) {
  const [changes, setChanges] = useState<Record<string, Value>>({});
  const sending = useSending();
  const names = Object.keys(props.values);
  const value = (name: string) => changes[name] ?? (name in changes ? null : props.values[name]!);
  const changed = names.filter(name => name in changes && changes[name] !== props.values[name]);
  const draft: Draft = {
    text: name => String(value(name) ?? ''),
    on: name => value(name) === true,
    set: (name, next) => setChanges(old => ({ ...old, [name]: next })),
    fault: sending.fault,
    field: name => ({
      value: draft.text(name),
      onChange: next => draft.set(name, next),
      fault: draft.fault(name),
    }),
    run: sending.run,
  };
  const save = () =>
    sending.run(async () => {
      const body = Object.fromEntries(
        changed.map(name => [name, wire(name, changes[name]!, props)]),
      );
      await changeApp(props, body);
      setChanges({});
      say('Saved.');
    });
  const form = useRef<HTMLFormElement>(null);
  const wrong = sending.problem?.errors.length ?? 0;
  useEffect(() => {
    const first = form.current?.querySelector<HTMLElement>('[aria-invalid]');
    first?.focus();
    first?.scrollIntoView({ block: 'center' }); // below what is fixed at the top of a phone
  }, [sending.problem]);
  const writable = may('apps:write');
  return (
    <form
      ref={form}
      noValidate
      aria-label={props.title}
      onSubmit={event => {
        event.preventDefault();
        if (changed.length) void save();
      }}
    >
      <Card
        title={props.title}
        text={props.text}
        foot={
          writable && (
            <>
              {wrong > 0 && (
                <span class="down" role="status">
                  Not saved: {wrong === 1 ? '1 field is' : `${wrong} fields are`} wrong
                </span>
              )}
              {changed.length > 0 && (
                <Button
                  kind="plain"
                  onClick={() => {
                    setChanges({});
                    sending.clear();
                  }}
                >
                  Discard
                </Button>
              )}
              <Button type="submit" kind="primary" busy={sending.busy} disabled={!changed.length}>
                Save
              </Button>
            </>
          )
        }
      >
        <fieldset class="bare" disabled={!writable}>
          {props.children(draft)}
        </fieldset>
        <ProblemNotice problem={sending.others(...names, ...(props.json?.members ?? []))} />
      </Card>
    </form>
  );
}
