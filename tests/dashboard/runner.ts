// One test after the other, each with a name and a time limit; ends with the line that ./dev adds up.
import { inOrder } from './slow';

interface Test {
  name: string;
  run: () => Promise<void> | void;
}

const tests: Test[] = [];
const took: { name: string; ms: number }[] = [];
// More failures than so many are no accident.
const few = 3;
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

async function passes(one: Test): Promise<boolean> {
  const started = Date.now();
  try {
    await limited(one);
    took.push({ name: one.name, ms: Date.now() - started });
    console.log(`ok   ${one.name} (${took.at(-1)!.ms} ms)`);
    return true;
  } catch (error) {
    console.log(`failed ${one.name}\n${(error as Error).stack ?? String(error)}`);
    return false;
  }
}

/** Runs those whose names have one of the words, or all. Of all, few that failed are run again: one
 * that passes twice, with nothing of this part beside it, counts as passed, and is named. */
export async function runTests(words: string[]): Promise<boolean> {
  const failed: Test[] = [];
  let passed = 0;
  for (const one of inOrder(tests)) {
    if (words.length && !words.some(word => one.name.includes(word))) continue;
    if (await passes(one)) passed++;
    else failed.push(one);
  }
  for (const one of !words.length && failed.length <= few ? [...failed] : []) {
    if (!(await passes(one)) || !(await passes(one))) continue;
    console.log(`UNSTEADY ${one.name}: failed first, see above, and passed twice`);
    failed.splice(failed.indexOf(one), 1);
    passed++;
  }
  if (!passed && !failed.length) {
    const groups = new Set(tests.map(one => one.name.split(':')[0]));
    console.log(`no test's name has ${words.join(' or ')}; there are: ${[...groups].join(', ')}`);
  }
  took.sort((a, b) => b.ms - a.ms);
  console.log('slowest:');
  for (const { name, ms } of took.slice(0, 5)) console.log(`${String(ms).padStart(9)} ms ${name}`);
  for (const one of failed) console.log(`FAILED ${one.name}`);
  console.log(`dashboard: ${passed} passed, ${failed.length} failed`);
  return failed.length === 0 && passed > 0;
}
