// One test after the other, each with a name and a time limit; ends with the line that ./dev adds up.
import { inOrder } from './slow';

interface Test {
  name: string;
  run: () => Promise<void> | void;
}

const tests: Test[] = [];
// For a machine that has much else to do; a test takes some seconds where it has not.
const limitMs = 600_000;

export function test(name: string, run: () => Promise<void> | void): void {
  tests.push({ name, run });
}

async function limited(one: Test): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not over within ${limitMs / 1000} s`)), limitMs);
  });
  try {
    await Promise.race([Promise.resolve().then(one.run), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Runs those whose names have one of the words, or all. */
export async function runTests(words: string[]): Promise<boolean> {
  let passed = 0;
  let failed = 0;
  const took: { name: string; ms: number }[] = [];
  for (const one of inOrder(tests)) {
    if (words.length && !words.some(word => one.name.includes(word))) continue;
    const started = Date.now();
    try {
      await limited(one);
      passed++;
      took.push({ name: one.name, ms: Date.now() - started });
      console.log(`ok   ${one.name} (${took.at(-1)!.ms} ms)`);
    } catch (error) {
      failed++;
      console.log(`FAILED ${one.name}\n${(error as Error).stack ?? String(error)}`);
    }
  }
  took.sort((a, b) => b.ms - a.ms);
  console.log('slowest:');
  for (const { name, ms } of took.slice(0, 5)) console.log(`${String(ms).padStart(9)} ms ${name}`);
  console.log(`dashboard: ${passed} passed, ${failed} failed`);
  return failed === 0 && passed > 0;
}
