// What lies over the page: dialogs (the browser's own, so focus and Escape are right) and the
// short messages that something has been done.
import { signal } from '../lib/signal';
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import type { Problem } from '../lib/http';
import { Button, ProblemNotice } from './basics';
import { Form, type Sending, useSending } from './forms';

interface DialogProps {
  title: string;
  /** Absent: nothing but what it is for ends it, neither Escape nor the phone's back. */
  onClose?: () => void;
  /** What is below is not seen. */
  covers?: boolean;
  children: ComponentChildren;
}

export function Dialog({ title, onClose, covers, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Before the browser paints: a key pressed meanwhile would go to the page below.
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    dialog.current?.showModal();
    return () => before?.isConnected && before.focus();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={`dialog ${covers ? 'covers' : ''}`}
      aria-labelledby={id}
      onCancel={event => !onClose && event.preventDefault()}
      // A browser may close it all the same.
      onClose={onClose ?? (event => event.currentTarget.showModal())}
    >
      <div class="inside">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

/** Shows what is never shown again: only the button that says so closes it. */
export function ShownOnce(props: {
  title: string;
  action: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  return (
    <Dialog title={props.title}>
      {props.children}
      <div class="row end">
        <Button kind="primary" onClick={props.onClose}>
          {props.action}
        </Button>
      </div>
    </Dialog>
  );
}

/** A dialog that is one form. fields: those whose faults stand beside them, as the server names
 * them; what else went wrong stands above the buttons. */
export function FormDialog(props: {
  title: string;
  /** The form's own name; without it the title. */
  label?: string;
  action: string;
  sending: Sending;
  fields: string[];
  disabled?: boolean;
  onClose: () => void;
  onSend: () => Promise<void>;
  children: ComponentChildren;
}) {
  const { title, sending, onClose } = props;
  return (
    <Dialog title={title} onClose={onClose}>
      <Form onSend={() => sending.run(props.onSend)} label={props.label ?? title}>
        {props.children}
        <ProblemNotice problem={sending.others(...props.fields)} />
        <div class="row end">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" busy={sending.busy} disabled={props.disabled}>
            {props.action}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

/** Asks before something that cannot be taken back. */
export function Confirm(props: {
  title: string;
  children: ComponentChildren;
  action: string;
  danger?: boolean;
  onClose: () => void;
  onDo: () => Promise<void>;
}) {
  const sending = useSending();
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <div>{props.children}</div>
      <ProblemNotice problem={sending.problem as Problem | null} />
      <div class="row end">
        <Button onClick={props.onClose}>Cancel</Button>
        <Button
          kind={props.danger ? 'danger' : 'primary'}
          busy={sending.busy}
          onClick={() =>
            sending.run(async () => {
              await props.onDo();
              props.onClose();
            })
          }
        >
          {props.action}
        </Button>
      </div>
    </Dialog>
  );
}

const messages = signal<{ id: number; text: string }[]>([]);
let lastId = 0;

/** Says in a few words that something has been done. */
export function say(text: string): void {
  const id = ++lastId;
  messages.value = [...messages.value, { id, text }];
  setTimeout(() => (messages.value = messages.value.filter(m => m.id !== id)), 5000);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {messages.value.map(message => (
        <div key={message.id} class="toast">
          {message.text}
        </div>
      ))}
    </div>
  );
}
