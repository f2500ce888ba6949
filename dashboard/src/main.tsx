import './styles/main.css';
import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { startLive } from './app/live';
import { address, startRouter } from './app/router';
import { expired, loadSession, me, session, sessionProblem } from './app/session';
import { Shell } from './app/shell';
import { early } from './lib/ask';
import { LinkPage } from './pages/sign-in/link';
import { SignInAgain, SignInPage } from './pages/sign-in/sign-in';
import { Loading, ProblemNotice } from './ui/basics';

function Root() {
  const problem = sessionProblem.value;
  useEffect(() => {
    if (!problem) return;
    const timer = setTimeout(() => void loadSession(), 3000);
    return () => clearTimeout(timer);
  }, [problem]);
  if (address.value.path === '/link') return <LinkPage />;
  if (!session.value) {
    return (
      <main class="centre">
        {problem ? (
          <ProblemNotice problem={problem} retry={() => void loadSession()} />
        ) : (
          <Loading />
        )}
      </main>
    );
  }
  if (!me.value) return <SignInPage />;
  return (
    <>
      <Shell who={me.value} />
      {expired.value && <SignInAgain />}
    </>
  );
}

startRouter();
startLive();
// What first.ts has asked is drawn in one painting; "Loading" is said only after 200 ms.
await Promise.race([
  Promise.all([loadSession(), early.over]),
  new Promise(late => setTimeout(late, 200)),
]);
render(<Root />, document.getElementById('app')!);
