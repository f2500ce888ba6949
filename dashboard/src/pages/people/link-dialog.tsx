// A one-time link: to be handed over by hand, unless it goes out by e-mail.
import { Code, Notice, Time } from '../../ui/basics';
import { ShownOnce } from '../../ui/overlay';

/** As the server answers. */
export interface MadeLink {
  Link: string;
  LinkExpiresAt: string;
  MailQueued: boolean;
}

export function LinkDialog(props: { email: string; made: MadeLink; onClose: () => void }) {
  const { email, made } = props;
  const address = new URL(made.Link, window.location.origin).href;
  const title = made.MailQueued
    ? 'It goes out by e-mail'
    : 'Send it yourself, over a channel you trust';
  return (
    <ShownOnce
      title={`Link for ${email}`}
      action={made.MailQueued ? 'Close' : 'I have copied it'}
      onClose={props.onClose}
    >
      <Notice tone={made.MailQueued ? 'info' : 'warn'} title={title}>
        Whoever opens it first chooses the password. It works once, until{' '}
        <Time at={made.LinkExpiresAt} />, and is shown only once.
      </Notice>
      <Code title="Link" text={address} />
    </ShownOnce>
  );
}
