// A secret that is hidden until it is asked for, and again after a minute.
import { useEffect } from 'preact/hooks';
import { Button, CopyButton } from './basics';

const hiddenAfterMs = 60_000;

/** text null: hidden. */
export function HiddenSecret(props: {
  text: string | null;
  busy: boolean;
  onShow: () => void;
  onHide: () => void;
}) {
  const { text, busy, onShow, onHide } = props;
  useEffect(() => {
    if (!text) return;
    const timer = setTimeout(onHide, hiddenAfterMs);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div class="row">
      <code class="secret">{text ?? '•'.repeat(32)}</code>
      {text ? (
        <>
          <CopyButton text={text} what="secret" />
          <Button size="small" onClick={onHide}>
            Hide
          </Button>
        </>
      ) : (
        <Button size="small" busy={busy} onClick={onShow}>
          Show
        </Button>
      )}
    </div>
  );
}
