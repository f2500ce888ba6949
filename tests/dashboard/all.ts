// The suite: node all.mjs [WORD...]
import './lib.test';
import './people.test';
import './reading.test';
import './callbacks.test';
import './apps.test';
import './console.test';
import './operator.test';
import './hostile.test';
import './every-page.test';
import { runTests } from './runner';
import { clearStage } from './stage';

const good = await runTests(process.argv.slice(2));
await clearStage();
process.exit(good ? 0 : 1);
