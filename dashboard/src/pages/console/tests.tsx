// The tests that were sent from this browser, newest first: they count nowhere and stand in no log
// of callbacks. Bodies and headers are not kept: they are signed.
import { useState } from 'preact/hooks';
import { me, partnerId, serverNow } from '../../app/session';
import { duration } from '../../lib/dates';
import type { RewardType } from '../../lib/types';
import { Badge, Button, Card, Empty, Time, type Tone } from '../../ui/basics';
import { Table } from '../../ui/table';
import { typeTitles } from '../callbacks/words';
import { complaint, outcomeOf, type Outcome, type TestAttempt } from './verdict';

interface SentTest {
  id: string;
  at: string;
  type: RewardType;
  url: string | null;
  outcome: Outcome;
  said: string;
  ms: number;
}

const most = 20;
const words: Record<Outcome, { tone: Tone; title: string }> = {
  taken: { tone: 'good', title: 'delivered' },
  doubted: { tone: 'bad', title: 'error in body' },
  failed: { tone: 'bad', title: 'failed' },
};

const nameOf = (app: string) => `tests ${me.value?.User.UserId} ${partnerId()} ${app}`;

function stored(app: string): SentTest[] {
  try {
    return JSON.parse(localStorage.getItem(nameOf(app)) ?? '[]') as SentTest[];
  } catch {
    return [];
  }
}

export interface TestLog {
  tests: SentTest[];
  add: (type: RewardType, result: TestAttempt) => void;
  clear: () => void;
}

export function useTestLog(app: string): TestLog {
  const [tests, setTests] = useState(() => stored(app));
  const keep = (all: SentTest[]) => {
    setTests(all);
    localStorage.setItem(nameOf(app), JSON.stringify(all));
  };
  return {
    tests,
    add: (type, result) => {
      const said =
        result.Detail ?? complaint(result.ResponseBody) ?? `Answered ${result.Status ?? ''}`;
      const test: SentTest = {
        id: result.RewardId,
        at: result.At ?? serverNow().toISOString(),
        type,
        url: result.Url,
        outcome: outcomeOf(result),
        said,
        ms: result.DurationMs,
      };
      keep([test, ...stored(app)].slice(0, most));
    },
    clear: () => keep([]),
  };
}

export function TestLogCard({ log }: { log: TestLog }) {
  return (
    <Card
      title="Your tests"
      text={`The last ${most} tests of this app, sent from this browser.`}
      flush={log.tests.length > 0}
      actions={
        log.tests.length > 0 && (
          <Button size="small" onClick={log.clear}>
            Clear
          </Button>
        )
      }
    >
      {log.tests.length ? (
        <Table
          label="Your tests"
          rows={log.tests}
          rowKey={test => test.id}
          columns={[
            { title: 'Sent', tight: true, cell: test => <Time at={test.at} short /> },
            { title: 'Type', tight: true, cell: test => typeTitles[test.type] },
            {
              title: 'Result',
              tight: true,
              cell: test => (
                <Badge tone={words[test.outcome].tone}>{words[test.outcome].title}</Badge>
              ),
            },
            { title: 'Answer', cell: test => test.said },
            { title: 'Took', right: true, cell: test => duration(test.ms) },
          ]}
        />
      ) : (
        <Empty title="No test yet">Send one above.</Empty>
      )}
    </Card>
  );
}
