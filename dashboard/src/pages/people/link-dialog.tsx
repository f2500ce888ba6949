// A one-time link, to be handed over by hand: the daemon sends no mail.
import { Code, Notice, Time } from '../../ui/basics';
import { ShownOnce } from '../../ui/overlay';

export interface MadeLink {
  email: string;
  link: string;
  expiresAt: string;
}

export function LinkDialog({ made, onClose }: { made: MadeLink; onClose: () => void }) {
  const address = new URL(made.link, window.location.origin).href;
  return (
    <ShownOnce title={`Link for ${made.email}`} action="I have copied it" onClose={onClose}>
      <Notice tone="warn" title="Send it yourself, over a channel you trust">
        Whoever opens it first chooses the password. It works once, until{' '}
        <Time at={made.expiresAt} />, and is shown only once.
      </Notice>
      <Code title="Link" text={address} />
    </ShownOnce>
  );
}
