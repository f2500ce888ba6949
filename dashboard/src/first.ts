// Runs while the rest of the program is still being fetched, and asks what it will need at once: who
// is signed in, and what the overview of a partner shows.
import { begin, withQuery } from './lib/ask';
import type { Session } from './lib/types';
import { overviewQuestions } from './pages/overview/questions';

async function askFirst(): Promise<void> {
  const answer = await begin('/api/v1/session');
  const who = (await answer.clone().json()) as Session;
  if (location.pathname !== '/' || !who.SignedIn || who.Side !== 'partner') return;
  if (!who.Scopes.includes('reports:read')) return;
  for (const [to, query] of overviewQuestions(who.ServerTime.slice(0, 10)))
    void begin(withQuery(to, query));
}

askFirst().catch(() => {}); // the program asks again, and says what is wrong
