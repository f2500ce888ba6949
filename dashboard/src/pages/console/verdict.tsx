// What a test callback came to, in one notice. A receiver that answers 2xx and says in its body
// that something is wrong has not passed.
import type { Attempt } from '../../lib/types';
import { Notice } from '../../ui/basics';
import { whatToDo } from '../callbacks/words';

export interface TestAttempt extends Attempt {
  RewardId: string;
  Body: string;
}

const nothingWrong = /"(?:errors?|failed|failure|warnings?)"\s*:\s*(?:null|false|0|""|\[\]|\{\})/gi;
const wrong =
  /\b(?:wrong|invalid|errors?|fail(?:ed|ure)?|mismatch|denied|forbidden|unauthori[sz]ed|rejected|bad (?:sig|request)|no match|does not match|not (?:ok|valid|verified|found))\b|"(?:ok|success|valid|verified)"\s*:\s*false/i;

/** What a body says is wrong, with a little around it; null: nothing that is known. */
export function complaint(body: string | null): string | null {
  const text = (body ?? '').replace(nothingWrong, '');
  const found = wrong.exec(text);
  if (!found) return null;
  return text.slice(Math.max(0, found.index - 40), found.index + 80).trim();
}

export type Outcome = 'taken' | 'doubted' | 'failed';

export function outcomeOf(result: TestAttempt): Outcome {
  if (result.Class !== null) return 'failed';
  return complaint(result.ResponseBody) ? 'doubted' : 'taken';
}

export function Verdict({ result }: { result: TestAttempt }) {
  switch (outcomeOf(result)) {
    case 'taken':
      return (
        <Notice tone="good" title={`Delivered: answered ${result.Status}`}>
          Check that your server credited nobody: IsTest is true.
        </Notice>
      );
    case 'doubted':
      return (
        <Notice tone="bad" title={`Answered ${result.Status}, but the body reports an error`}>
          “{complaint(result.ResponseBody)}”. A real callback would count as delivered and would not
          be retried. Answer 4xx or 5xx to reject a callback, or describe a success in the app’s
          Success answer setting.
        </Notice>
      );
    case 'failed':
      return (
        <Notice tone="bad" title={result.Detail ?? result.Class ?? 'It failed'}>
          {whatToDo(result)}
        </Notice>
      );
  }
}
