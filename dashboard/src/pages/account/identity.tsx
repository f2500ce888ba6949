// One's own user at an identity provider: linked by way of the provider, and unlinked.
import { useEffect, useState } from 'preact/hooks';
import { useResource } from '../../app/resource';
import { address, navigate } from '../../app/router';
import { takeSession } from '../../app/session';
import { post } from '../../lib/http';
import type { Session } from '../../lib/types';
import { Button, Card, ProblemNotice } from '../../ui/basics';
import { useSending } from '../../ui/forms';
import { say } from '../../ui/overlay';
import { ProviderProblem } from '../sign-in/providers';
import { ProofDialog } from './proof';

interface Provider {
  Provider: number;
  Name: string;
}

interface Mine {
  Identity: { Name: string | null; Issuer: string; Subject: string } | null;
  Providers: Provider[];
}

const mine = '/api/v1/session/identity';

export function IdentityCard() {
  const { data, reload, problem } = useResource<Mine>(mine);
  /** Which to link; null: the linked one is unlinked. */
  const [asked, ask] = useState<Provider | null>();
  const sending = useSending();
  const take = async (body: unknown, done: string, to = mine) => {
    takeSession(await post<Session>(to, body));
    reload();
    say(done);
  };
  // The provider has sent the browser back.
  useEffect(() => {
    const back = new URLSearchParams(address.value.hash.slice(1));
    const AuthorizationCode = back.get('code');
    if (!AuthorizationCode) return;
    navigate('/account', true);
    const body = {
      AuthorizationCode,
      State: back.get('state'),
      Issuer: back.get('iss') ?? undefined,
    };
    void sending.run(() => take(body, 'Linked. You can sign in by the provider now.'));
  }, []);
  const linked = data?.Identity;
  if (!problem && !linked && !data?.Providers.length) return null;
  const close = () => ask(undefined);
  return (
    <Card
      title="Identity provider"
      text={
        linked
          ? `You are linked to ${linked.Name ?? linked.Issuer} as ${linked.Subject}.`
          : 'Link your user to sign in by it. Your groups there then decide your role.'
      }
    >
      <ProviderProblem title="You are not linked" />
      <ProblemNotice problem={sending.problem ?? problem} />
      <div class="row">
        {linked ? (
          <Button kind="danger" onClick={() => ask(null)}>
            Unlink
          </Button>
        ) : (
          data?.Providers.map(one => (
            <Button key={one.Provider} disabled={sending.busy} onClick={() => ask(one)}>
              Link {one.Name}
            </Button>
          ))
        )}
      </div>
      {asked !== undefined && (
        <ProofDialog
          title={asked ? `Link ${asked.Name}` : 'Unlink the provider?'}
          text={
            asked
              ? 'You sign in there next, and come back.'
              : 'You then sign in by password. All your other sessions end.'
          }
          action={asked ? 'Continue' : 'Unlink'}
          onClose={close}
          onDo={async proof => {
            if (asked) {
              const body = { ...proof, Provider: asked.Provider };
              location.assign((await post<{ Url: string }>(`${mine}/start`, body)).Url);
            } else {
              await take(proof, 'Unlinked. All other sessions ended.', `${mine}/remove`);
              close();
            }
          }}
        />
      )}
    </Card>
  );
}
