import './styles/main.css';
import { render } from 'preact';
import { startLive } from './app/live';
import { Root } from './app/root';
import { startRouter } from './app/router';
import { loadSession } from './app/session';
import { early } from './lib/ask';

startRouter();
startLive();
// What first.ts has asked is drawn in one painting; "Loading" is said only after 200 ms.
await Promise.race([
  Promise.all([loadSession(), early.over]),
  new Promise(late => setTimeout(late, 200)),
]);
render(<Root />, document.getElementById('app')!);
