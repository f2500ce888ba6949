// Fields with their label, hint and fault, and forms that send themselves and say what was wrong.
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { expired } from '../app/session';
import { Problem } from '../lib/http';

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  fault?: string | null;
  unit?: string;
}

interface InputProps extends FieldProps {
  value: string;
  onChange: (value: string) => void;
  mono?: boolean;
  type?: 'text' | 'email' | 'password' | 'search' | 'date' | 'datetime-local' | 'url';
  autocomplete?: HTMLInputElement['autocomplete'];
  inputMode?: 'numeric' | 'decimal';
  placeholder?: string;
  required?: boolean;
  autofocus?: boolean;
  disabled?: boolean;
  readOnly?: boolean;
  min?: string;
  max?: string;
}

function Framed(props: FieldProps & { id: string; children: ComponentChildren }) {
  return (
    <div class="field">
      <label for={props.id}>{props.label}</label>
      {props.unit ? (
        <div class="with-unit">
          {props.children}
          <span class="quiet nowrap">{props.unit}</span>
        </div>
      ) : (
        props.children
      )}
      {props.fault && (
        <div class="fault" id={`${props.id}-fault`}>
          {props.fault}
        </div>
      )}
      {props.hint && (
        <div class="hint" id={`${props.id}-hint`}>
          {props.hint}
        </div>
      )}
    </div>
  );
}

function described(id: string, props: FieldProps): string | undefined {
  const ids = [props.fault && `${id}-fault`, props.hint && `${id}-hint`].filter(Boolean);
  return ids.length ? ids.join(' ') : undefined;
}

export function TextField({
  label,
  hint,
  fault,
  unit,
  value,
  onChange,
  mono,
  ...rest
}: InputProps) {
  const id = useId();
  const frame = { label, hint, fault, unit };
  return (
    <Framed {...frame} id={id}>
      <input
        autocomplete="off"
        spellcheck={false}
        {...(rest as { type: 'text' })}
        id={id}
        class={`input ${mono ? 'mono' : ''}`}
        value={value}
        aria-invalid={fault ? 'true' : undefined}
        aria-describedby={described(id, frame)}
        onInput={event => onChange(event.currentTarget.value)}
      />
    </Framed>
  );
}

export function AreaField({
  label,
  hint,
  fault,
  value,
  onChange,
  rows,
}: FieldProps & { value: string; onChange: (value: string) => void; rows?: number }) {
  const id = useId();
  const frame = { label, hint, fault };
  return (
    <Framed {...frame} id={id}>
      <textarea
        spellcheck={false}
        rows={rows}
        id={id}
        class="input"
        value={value}
        aria-invalid={fault ? 'true' : undefined}
        aria-describedby={described(id, frame)}
        onInput={event => onChange(event.currentTarget.value)}
      />
    </Framed>
  );
}

export function SelectField<T extends string>(
  props: FieldProps & {
    value: T;
    onChange: (value: T) => void;
    items: readonly { value: T; title: string }[];
    disabled?: boolean;
  },
) {
  const id = useId();
  return (
    <Framed {...props} id={id}>
      <select
        id={id}
        class="input"
        disabled={props.disabled}
        aria-invalid={props.fault ? 'true' : undefined}
        aria-describedby={described(id, props)}
        onChange={event => props.onChange(event.currentTarget.value as T)}
      >
        {props.items.map(item => (
          <option key={item.value} value={item.value} selected={item.value === props.value}>
            {item.title}
          </option>
        ))}
      </select>
    </Framed>
  );
}

export function CheckField(
  props: FieldProps & { checked: boolean; onChange: (on: boolean) => void; disabled?: boolean },
) {
  const id = useId();
  return (
    <div class="check">
      <input
        id={id}
        type="checkbox"
        checked={props.checked}
        disabled={props.disabled}
        aria-invalid={props.fault ? 'true' : undefined}
        aria-describedby={described(id, props)}
        onChange={event => props.onChange(event.currentTarget.checked)}
      />
      <label for={id}>{props.label}</label>
      {props.fault && (
        <div class="fault" id={`${id}-fault`}>
          {props.fault}
        </div>
      )}
      {props.hint && (
        <div class="hint quiet small" id={`${id}-hint`}>
          {props.hint}
        </div>
      )}
    </div>
  );
}

/** The id of something new, which whoever makes it may choose. */
export function IdField(props: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  fault?: string | null;
}) {
  return (
    <TextField
      {...props}
      hint="Letters, digits, - and _. Cannot be changed later. Empty: generated."
      mono
    />
  );
}

export interface Sending {
  busy: boolean;
  problem: Problem | null;
  /** The fault of one field, and the rest that belongs to no field shown. */
  fault: (field: string) => string | undefined;
  others: (...shown: string[]) => Problem | null;
  run: (act: () => Promise<void>) => Promise<void>;
  clear: () => void;
}

/** Runs one change at a time and keeps what went wrong. */
export function useSending(): Sending {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  return {
    busy,
    problem,
    fault: field => problem?.of(field),
    others: (...shown) => {
      if (!problem) return null;
      const rest = problem.errors.filter(e => !shown.includes(e.Field ?? e.Parameter ?? ''));
      if (problem.errors.length && !rest.length) return null;
      return new Problem(problem.status, problem.title, problem.detail, rest, problem.againS);
    },
    clear: () => setProblem(null),
    run: async act => {
      if (busy) return;
      const wasExpired = expired.value;
      setBusy(true);
      setProblem(null);
      try {
        await act();
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        // Whoever has signed in again sends what stands in the form once more.
        if (wasExpired || !expired.value) setProblem(error);
      } finally {
        setBusy(false);
      }
    },
  };
}

export function Form(props: { onSend: () => void; children: ComponentChildren; label?: string }) {
  return (
    <form
      class="stack"
      noValidate
      aria-label={props.label}
      onSubmit={event => {
        event.preventDefault();
        props.onSend();
      }}
    >
      {props.children}
    </form>
  );
}
