// The request of an attempt, to be sent again by hand. Only what the page shows stands in it: a
// password of the URL and a Sig that the role does not show stay masked.
import { curlOf } from '../../lib/curl';
import type { Attempt } from '../../lib/types';
import { CopyButton } from '../../ui/basics';

/** What the attempt sent as its body; `body` is the callback as JSON. */
export function sentBody(
  attempt: Pick<Attempt, 'Method' | 'RequestBody'>,
  body: string | null,
): string | null {
  return attempt.Method === 'GET' ? null : (attempt.RequestBody ?? body);
}

/** Nothing where it is no longer known what was sent. */
export function CurlButton({ attempt, body }: { attempt: Attempt; body: string | null }) {
  if (!attempt.Url || !attempt.RequestHeaders || body === null) return null;
  return (
    <CopyButton
      title="Copy as curl"
      what={`attempt ${attempt.Number}`}
      text={curlOf(attempt.Url, attempt.RequestHeaders, sentBody(attempt, body))}
    />
  );
}
