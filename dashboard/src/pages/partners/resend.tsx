// Resending a partner's callback. Viewing as a partner is read-only, so it is done from here, in the
// operator's own name.
import { useState } from 'preact/hooks';
import { Button, Card, ProblemNotice } from '../../ui/basics';
import { Form, TextField, useSending } from '../../ui/forms';
import { resend, ResendAnswer, type Resent } from '../callbacks/answer';

export function ResendPanel({ partner }: { partner: string }) {
  const [id, setId] = useState('');
  const [resent, setResent] = useState<Resent | null>(null);
  const sending = useSending();
  const send = () =>
    sending.run(async () => {
      setResent(null);
      setResent(await resend(id.trim(), true, partner));
      setId('');
    });
  return (
    <Card
      title="Resend a callback"
      text="Same RewardId, same body. A delivered callback gets one more attempt. Recorded in the audit log."
    >
      <Form onSend={send} label="Resend a callback">
        <TextField label="RewardId" required value={id} onChange={setId} />
        <ProblemNotice problem={sending.problem} />
        <div>
          <Button kind="primary" type="submit" busy={sending.busy}>
            Resend
          </Button>
        </div>
      </Form>
      {resent && <ResendAnswer resent={resent} named />}
    </Card>
  );
}
