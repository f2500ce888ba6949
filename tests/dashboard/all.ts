// The suite: node all.mjs [--part K/N] [WORD...]. Parts are for processes that run side by side, each
// with a daemon, a world and a browser of its own; which files go together is a matter of time only.
import { runTests } from './runner';
import { clearStage } from './stage';

const files: { part: number; load: () => Promise<unknown> }[] = [
  { part: 3, load: () => import('./lib.test') },
  { part: 2, load: () => import('./health.test') },
  { part: 2, load: () => import('./people.test') },
  { part: 3, load: () => import('./sign-in.test') },
  { part: 1, load: () => import('./reading.test') },
  { part: 3, load: () => import('./money.test') },
  { part: 2, load: () => import('./statements.test') },
  { part: 3, load: () => import('./alerts.test') },
  { part: 3, load: () => import('./erasing.test') },
  { part: 2, load: () => import('./callbacks.test') },
  { part: 1, load: () => import('./log.test') },
  { part: 1, load: () => import('./names.test') },
  { part: 2, load: () => import('./resend.test') },
  { part: 3, load: () => import('./urls.test') },
  { part: 3, load: () => import('./deliveries.test') },
  { part: 3, load: () => import('./following.test') },
  { part: 3, load: () => import('./apps.test') },
  { part: 3, load: () => import('./console.test') },
  { part: 1, load: () => import('./operator.test') },
  { part: 3, load: () => import('./docs.test') },
  { part: 3, load: () => import('./first-day.test') },
  { part: 1, load: () => import('./stores.test') },
  { part: 3, load: () => import('./tabs.test') },
  { part: 2, load: () => import('./clusters.test') },
  { part: 3, load: () => import('./http2.test') },
  { part: 1, load: () => import('./search.test') },
  { part: 2, load: () => import('./hostile.test') },
  { part: 1, load: () => import('./every-page.test') },
];

const words = process.argv.slice(2);
const part = words[0] === '--part' ? Number(words.splice(0, 2)[1]) : 0;
for (const file of files) if (!part || file.part === part) await file.load();
const good = await runTests(words);
await clearStage();
process.exit(good ? 0 : 1);
