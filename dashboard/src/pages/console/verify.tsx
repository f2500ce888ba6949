// Paste what your server received: does its signature match, and if not, why. What was altered on
// the way shows beside the bytes that were sent.
import { useState } from 'preact/hooks';
import { query } from '../../app/router';
import { get, path, post, Problem } from '../../lib/http';
import type { App, Callback } from '../../lib/types';
import { Button, Card, Code, Notice, ProblemNotice } from '../../ui/basics';
import { AreaField, Form, TextField, useSending } from '../../ui/forms';
import { callbackPage, callbackPath } from '../callbacks/paths';

interface Finding {
  Matches: boolean;
  Cause: string | null;
  Detail: string | null;
}

export interface Verified {
  RewardId: string | null;
  Sig: Finding;
  WebhookSignature: Finding | null;
}

const sigMask = /("Sig(?:nature)?":")(?:[0-9a-f]{32}|\*{32})/g;

/** Where two bodies part, Sig aside (it changes with the secret); null: nowhere. */
export function difference(sent: string, received: string): string | null {
  const a = sent.replace(sigMask, '$1');
  const b = received.replace(sigMask, '$1');
  if (a === b) return null;
  let i = 0;
  while (i < a.length && i < b.length && a[i] === b[i]) i++;
  const around = (text: string) => JSON.stringify(text.slice(Math.max(0, i - 12), i + 20));
  return `They differ at character ${i + 1}: sent ${around(a)}, received ${around(b)}.`;
}

function FindingNotice({ name, finding }: { name: string; finding: Finding }) {
  const tone = finding.Matches && !finding.Cause ? 'good' : finding.Matches ? 'warn' : 'bad';
  return (
    <Notice tone={tone} title={finding.Matches ? `${name} matches` : `${name} does not match`}>
      {finding.Detail}
    </Notice>
  );
}

function Compared({ sent, received }: { sent: Callback; received: string }) {
  if (sent.Body === null) return null;
  const found = difference(sent.Body, received);
  return found ? (
    <>
      <Notice tone="warn" title="The body was changed">
        {found} Verify the raw bytes: JSON that was parsed and serialized again can have other
        numbers, spaces or escapes.
      </Notice>
      <Code title="As sent" text={sent.Body} />
    </>
  ) : (
    <Notice tone="good" title="The body is unchanged">
      It equals the body that was sent, except for Sig if the secret was rotated.{' '}
      <a href={callbackPage(sent.RewardId)}>Open the callback</a>
    </Notice>
  );
}

async function findSent(rewardId: string | null): Promise<Callback | null> {
  if (!rewardId || rewardId.startsWith('test_')) return null;
  try {
    return await get<Callback>(callbackPath(rewardId));
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return null;
    throw error;
  }
}

export function VerifyPanel({ app }: { app: App }) {
  const [body, setBody] = useState('');
  const [secret, setSecret] = useState('');
  const [id, setId] = useState('');
  const [timestamp, setTimestamp] = useState('');
  const [signature, setSignature] = useState('');
  const [found, setFound] = useState<{
    verified: Verified;
    sent: Callback | null;
    body: string;
  } | null>(null);
  const sending = useSending();
  const check = () =>
    sending.run(async () => {
      setFound(null);
      const verified = await post<Verified>(path`/api/v1/apps/${app.AppId}/verify-callback`, {
        Body: body,
        Secret: secret || undefined,
        WebhookId: signature ? id.trim() : undefined,
        WebhookTimestamp: signature ? timestamp.trim() : undefined,
        WebhookSignature: signature.trim() || undefined,
      });
      setFound({ verified, sent: await findSent(verified.RewardId), body });
    });
  return (
    <>
      <Card
        title="Verify a received callback"
        text="Checked with the app’s secrets. Nothing is stored."
      >
        <Form onSend={check} label="Verify a received callback">
          <AreaField
            label="Body"
            hint="Exactly as received: copy it from the raw request, not from a log that formats JSON."
            rows={6}
            value={body}
            onChange={setBody}
            fault={sending.fault('Body')}
          />
          <details open={query.value.get('check') === 'secret'}>
            <summary>Your secret and the headers</summary>
            <div class="stack">
              <TextField
                label="The secret your server uses"
                hint="Optional. Checks that it is this app’s secret, without extra spaces or line ends."
                mono
                value={secret}
                onChange={setSecret}
              />
              <div class="grid-3">
                <TextField label="webhook-id" mono value={id} onChange={setId} />
                <TextField
                  label="webhook-timestamp"
                  mono
                  value={timestamp}
                  onChange={setTimestamp}
                />
                <TextField
                  label="webhook-signature"
                  mono
                  value={signature}
                  onChange={setSignature}
                />
              </div>
            </div>
          </details>
          <ProblemNotice problem={sending.others('Body')} />
          <div class="row end">
            <Button type="submit" kind="primary" busy={sending.busy} disabled={!body.trim()}>
              Verify
            </Button>
          </div>
        </Form>
      </Card>
      <div class="stack" aria-live="polite">
        {found && (
          <Card title="Result">
            <FindingNotice name="Sig" finding={found.verified.Sig} />
            {found.verified.WebhookSignature && (
              <FindingNotice name="webhook-signature" finding={found.verified.WebhookSignature} />
            )}
            {found.sent && <Compared sent={found.sent} received={found.body} />}
            {!found.sent &&
              found.verified.RewardId &&
              !found.verified.RewardId.startsWith('test_') && (
                <Notice
                  tone="warn"
                  title={`No callback ${found.verified.RewardId} in this account`}
                >
                  The RewardId was changed, or someone else sent this.
                </Notice>
              )}
          </Card>
        )}
      </div>
    </>
  );
}
