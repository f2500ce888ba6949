// The small parts that every page is made of.
import { signal } from '../lib/signal';
import type { ButtonHTMLAttributes, ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { copyText } from '../lib/clipboard';
import { localBeside, relative, utcDayTime, utcTime, dayOf, shortDay } from '../lib/dates';
import type { Problem } from '../lib/http';
import { serverNow } from '../app/session';
import { withoutTurns } from './chosen';
import { Icon } from './icons';

export type Tone = 'good' | 'bad' | 'warn' | 'info' | 'plain';
type Children = { children?: ComponentChildren };

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'size' | 'class'> {
  kind?: 'primary' | 'danger' | 'plain';
  size?: 'small';
  busy?: boolean;
}

/** type="button" unless told otherwise: a form is sent by the one that says so. */
export function Button({ kind, size, busy, children, disabled, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      class={`button ${kind ?? ''} ${size ?? ''}`}
      disabled={disabled || busy}
      aria-busy={busy}
    >
      {busy && <span class="spinner" aria-hidden="true" />}
      {children}
    </button>
  );
}

export function LinkButton(
  props: Children & {
    href: string;
    kind?: 'primary' | 'plain';
    size?: 'small';
    /** The file's name: the browser saves what comes, as it comes. */
    download?: string;
  },
) {
  return (
    <a
      class={`button ${props.kind ?? ''} ${props.size ?? ''}`}
      href={props.href}
      download={props.download}
    >
      {props.children}
    </a>
  );
}

export function PageHead(
  props: Children & {
    title: string;
    /** The id of what the page is about, where the title is its name. */
    id?: string;
    text?: ComponentChildren;
    crumb?: { href: string; title: string };
  },
) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${withoutTurns(props.title)} · postbackd`;
  }, [props.title]);
  return (
    <div class="page-head">
      <div>
        {props.crumb && (
          <nav class="crumbs" aria-label="Where this is">
            <a href={props.crumb.href}>
              <span aria-hidden="true">← </span>
              {props.crumb.title}
            </a>
          </nav>
        )}
        <h1 tabIndex={-1} ref={heading}>
          {props.title}
        </h1>
        {props.id && <p class="mono">{props.id}</p>}
        {props.text && <p>{props.text}</p>}
      </div>
      {props.children && <div class="row">{props.children}</div>}
    </div>
  );
}

interface CardProps extends Children {
  title?: string;
  text?: ComponentChildren;
  actions?: ComponentChildren;
  foot?: ComponentChildren;
  flush?: boolean;
}

export function Card({ title, text, actions, foot, flush, children }: CardProps) {
  return (
    <section class="card" aria-label={title}>
      {(title || actions) && (
        <div class="card-head">
          <div>
            {title && <h2>{title}</h2>}
            {text && <p>{text}</p>}
          </div>
          {actions && <div class="row">{actions}</div>}
        </div>
      )}
      {children && <div class={`card-body ${flush ? 'flush' : ''}`}>{children}</div>}
      {foot && <div class="card-foot">{foot}</div>}
    </section>
  );
}

export function Badge({ tone = 'plain', children }: Children & { tone?: Tone }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

export function Notice({
  tone = 'info',
  title,
  children,
}: Children & { tone?: Tone; title?: string }) {
  return (
    <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      {title && <strong>{title}</strong>}
      {children && <div>{children}</div>}
    </div>
  );
}

/** Something to mind beside a field: a line, where a notice would be too loud. */
export function Caution({ children }: Children) {
  return (
    <div class="caution" role="status">
      <Icon name="warn" />
      <span>{children}</span>
    </div>
  );
}

/** A figure of today or of now, in a card of its own. */
export function Metric(props: {
  title: string;
  value: ComponentChildren;
  note: ComponentChildren;
  bad?: boolean;
}) {
  return (
    <div class="card metric">
      <h2 class="title">{props.title}</h2>
      <div class={`value ${props.bad ? 'down' : ''}`}>{props.value}</div>
      <div class="compare">{props.note}</div>
    </div>
  );
}

export function Empty({
  title,
  children,
  action,
}: Children & { title: string; action?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {action}
    </div>
  );
}

export function Loading({ what = 'Loading' }: { what?: string }) {
  return (
    <div class="loading" role="status">
      <span class="spinner" aria-hidden="true" />
      <span>{what}…</span>
    </div>
  );
}

const whatToDo: Record<number, string> = {
  0: 'Retrying every few seconds.',
  401: 'Sign in again.',
  403: 'Ask an owner of this account for access.',
  404: 'It may have been removed, or it belongs to another account. Check the address.',
  409: 'It was changed in the meantime, or the id is taken. Reload and try again.',
  412: 'Somebody else changed it at the same time. Reload, check their change, and try again.',
  429: 'Wait a moment. Retrying automatically.',
  503: 'The server is starting or busy. Retrying automatically.',
};

/** An error, what it means and how to mend it. */
export function ProblemNotice({ problem, retry }: { problem: Problem | null; retry?: () => void }) {
  if (!problem) return null;
  return (
    <Notice tone="bad" title={problem.detail || problem.title}>
      {problem.errors.map(error => (
        <div key={`${error.Field}${error.Parameter}${error.Code}`}>
          <code>{error.Field ?? error.Parameter}</code>: {error.Detail}
        </div>
      ))}
      {whatToDo[problem.status] && <div>{whatToDo[problem.status]}</div>}
      {retry && (
        <div class="row">
          <Button size="small" onClick={retry}>
            Try again
          </Button>
        </div>
      )}
    </Notice>
  );
}

/** Moves every few seconds, so that "8 s ago" does not stand still. */
const pulse = signal(0);
setInterval(() => pulse.value++, 5000);

/** UTC, with what the clock on the wall says beside it. `short` leaves out today's date. */
export function Time({ at, short, ago }: { at: string | null; short?: boolean; ago?: boolean }) {
  if (!at) return <span class="quiet">–</span>;
  if (ago) pulse.value; // read, so that it is drawn again
  const time = new Date(at);
  const now = serverNow();
  const beside = localBeside(time);
  const today = dayOf(time) === dayOf(now);
  const text = short
    ? today
      ? `${utcTime(time)} UTC`
      : `${shortDay(dayOf(time))}, ${utcTime(time)} UTC`
    : utcDayTime(time);
  return (
    <span>
      <time dateTime={at} title={utcDayTime(time)} class="nowrap">
        {text}
      </time>
      {beside && <span class="time-local"> · {beside} local</span>}
      {ago && <span class="time-local"> · {relative(time, now)}</span>}
    </span>
  );
}

export function CopyButton(props: { text: string; what: string; title?: string }) {
  const { text, what, title = 'Copy' } = props;
  const [done, setDone] = useState<'copied' | 'not copied' | null>(null);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(null), 2000);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = async (pressed: HTMLElement) =>
    setDone((await copyText(text, pressed)) ? 'copied' : 'not copied');
  return (
    <Button
      kind="plain"
      size="small"
      aria-label={done ? `${what} ${done}` : `${title} ${what}`}
      onClick={event => void copy(event.currentTarget)}
    >
      <Icon name={done === 'copied' ? 'check' : 'copy'} />
      {done === 'copied' ? 'Copied' : done ? 'Not copied' : title}
    </Button>
  );
}

interface CodeProps {
  text: string;
  title: string;
  /** Keeps its lines whole and scrolls inside. */
  lines?: boolean;
  /** Beside the button that copies it. */
  actions?: ComponentChildren;
}

/** Text as it is, byte for byte. */
export function Code({ text, title, lines, actions }: CodeProps) {
  return (
    <div class={`code ${lines ? 'lines' : ''}`}>
      <div class="code-head">
        <span>{title}</span>
        <span class="row">
          {actions}
          <CopyButton text={text} what={title} />
        </span>
      </div>
      <pre tabIndex={0} role="region" aria-label={title}>
        {text}
      </pre>
    </div>
  );
}

export function Facts({ items }: { items: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {items.map(([name, value]) => [
        <dt key={name}>{name}</dt>,
        <dd key={`${name}:`}>{value}</dd>,
      ])}
    </dl>
  );
}

export function Tabs({
  items,
  label,
}: {
  items: { href: string; title: string; current: boolean }[];
  label: string;
}) {
  return (
    <nav class="tabs" aria-label={label}>
      {items.map(item => (
        <a key={item.href} href={item.href} aria-current={item.current ? 'page' : undefined}>
          {item.title}
        </a>
      ))}
    </nav>
  );
}

export function Choices<T extends string>(props: {
  label: string;
  value: T;
  items: readonly { value: T; title: string }[];
  onChange: (value: T) => void;
}) {
  return (
    <div class="choices" role="group" aria-label={props.label}>
      {props.items.map(item => (
        <button
          key={item.value}
          type="button"
          aria-pressed={item.value === props.value}
          onClick={() => props.onChange(item.value)}
        >
          {item.title}
        </button>
      ))}
    </div>
  );
}
