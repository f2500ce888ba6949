// Sending a partner's callback again, for it: who looks as a partner changes nothing, so that it is
// done from here, in the operator's own name.
import { useState } from 'preact/hooks';
import { post } from '../../lib/http';
import { Button, Card, ProblemNotice } from '../../ui/basics';
import { Form, TextField, useSending } from '../../ui/forms';
import { say } from '../../ui/overlay';
import { callbackPath } from '../callbacks/paths';

export function ResendPanel({ partner }: { partner: string }) {
  const [id, setId] = useState('');
  const sending = useSending();
  const send = () =>
    sending.run(async () => {
      await post(`${callbackPath(id.trim())}/resend`, undefined, { partnerId: partner });
      say(`${id.trim()} is being resent.`);
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
            Send again
          </Button>
        </div>
      </Form>
    </Card>
  );
}
