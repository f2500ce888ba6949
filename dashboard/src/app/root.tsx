// What is shown at all: the sign-in, or the frame with a page in it. The files of the pages import it
// so that the bundle has everything that they share in one file: 1 kB less.
import { useEffect } from 'preact/hooks';
import { address } from './router';
import { expired, loadSession, me, session, sessionProblem } from './session';
import { Shell } from './shell';
import { soonS } from '../lib/http';
import { LinkPage } from '../pages/sign-in/link';
import { SignInAgain, SignInPage } from '../pages/sign-in/sign-in';
import { Loading, ProblemNotice } from '../ui/basics';

export function Root() {
  const problem = sessionProblem.value;
  useEffect(() => {
    if (!problem) return;
    const timer = setTimeout(() => void loadSession(), (problem.againS ?? soonS) * 1000);
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
