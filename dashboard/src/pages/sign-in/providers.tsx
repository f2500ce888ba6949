// Signing in by an identity provider: a link to each, and what came of it in words.
import { useEffect, useState } from 'preact/hooks';
import { query } from '../../app/router';
import { get } from '../../lib/http';
import { Notice } from '../../ui/basics';

export interface SignInWays {
  Providers: { Name: string; Path: string }[];
  Passwords: boolean;
}

/** Null: not known yet. Where it cannot be read, passwords are tried. */
export function useSignInWays(): SignInWays | null {
  const [ways, setWays] = useState<SignInWays | null>(null);
  useEffect(() => {
    get<SignInWays>('/api/v1/sign-in').then(setWays, () =>
      setWays({ Providers: [], Passwords: true }),
    );
  }, []);
  return ways;
}

const problems: Record<string, string> = {
  again: 'It took too long, or was begun in another browser or window. Start again.',
  provider:
    'The provider cannot be reached, or its answer is not valid. Try again later, or tell who runs this server.',
  refused: 'The provider did not confirm who you are. Start again if you cancelled by mistake.',
  'no-role': 'None of your groups has a role here. Ask who manages them for one that has.',
  email: 'The provider names no verified e-mail address of yours. Verify it there.',
  address:
    'There already is a user with your e-mail address. Sign in by password and link it on “My account”, or ask for the old user to be removed.',
  disabled: 'Your user is disabled. Ask an owner of your account.',
  'account-disabled': 'Your account is disabled. Ask who runs this server.',
  busy: 'Too many sign-ins. Wait a minute and try again.',
};

export function ProviderProblem({ title }: { title: string }) {
  const text = problems[query.value.get('problem') ?? ''];
  return text ? (
    <Notice tone="bad" title={title}>
      {text}
    </Notice>
  ) : null;
}

export function ProviderLinks({ ways, apart }: { ways: SignInWays; apart?: boolean }) {
  return (
    <>
      {ways.Providers.map(({ Name, Path }) => (
        // With a target it is the browser's own, not the router's.
        <a key={Path} class="button" href={Path} target={apart ? '_blank' : '_self'}>
          Sign in with {Name}
        </a>
      ))}
    </>
  );
}
