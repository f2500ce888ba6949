// Runs before anything is painted and while the program is still being fetched: a chosen theme never
// flashes the other one, and what the program will need is asked at once: who is signed in, and what
// the overview of a partner shows.
import { begin, early, withQuery } from './lib/ask';
import type { Session } from './lib/types';
import { overviewQuestions } from './pages/overview/questions';

const chosen = localStorage.getItem('theme');
if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;

async function askFirst(): Promise<void> {
  const answer = await begin('/api/v1/session');
  const who = JSON.parse(await answer!.text()) as Session;
  if (location.pathname !== '/' || !who.SignedIn || who.Side !== 'partner') return;
  if (!who.Scopes.includes('reports:read')) return;
  const questions = overviewQuestions(who.ServerTime.slice(0, 10));
  await Promise.all(questions.map(([to, query]) => begin(withQuery(to, query))));
}

early.over = askFirst().catch(() => {}); // the program asks again, and says what is wrong
