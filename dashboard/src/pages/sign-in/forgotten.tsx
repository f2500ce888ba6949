// Who has forgotten a password asks for a link by e-mail, where the server sends any.
import { useState } from 'preact/hooks';
import { post } from '../../lib/http';
import { Button, Notice, ProblemNotice } from '../../ui/basics';
import { useSending } from '../../ui/forms';

export function Forgotten({ email }: { email: string }) {
  const [asked, setAsked] = useState('');
  const sending = useSending();
  const ask = () =>
    sending.run(async () => {
      setAsked('');
      await post('/api/v1/links/request', { Email: email });
      setAsked(email);
    });
  return (
    <>
      <Button kind="plain" busy={sending.busy} onClick={ask}>
        Forgot your password?
      </Button>
      {asked && (
        <Notice title="Check your e-mail">
          If {asked} has a password here, a link to choose a new one is on its way.
        </Notice>
      )}
      {sending.problem?.status === 409 ? (
        <Notice title={sending.problem.detail} />
      ) : (
        <ProblemNotice problem={sending.problem} />
      )}
    </>
  );
}
