// The check in six languages, and in the frameworks that need a file of their own, with the app's
// secret in it where somebody asks for that.
import { useState } from 'preact/hooks';
import { query, setQuery } from '../../app/router';
import { may } from '../../app/session';
import { get, path } from '../../lib/http';
import type { App } from '../../lib/types';
import { Button, Card, Choices, Code, ProblemNotice } from '../../ui/basics';
import { SelectField, useSending } from '../../ui/forms';
import type { Secret } from '../apps/secret';
import { snippets, withSecret } from './snippets';

export function ProgramsCard({ apps }: { apps: App[] }) {
  const [appId, setAppId] = useState(apps[0]?.AppId ?? '');
  const [read, setRead] = useState<{ appId: string; secret: string } | null>(null);
  const sending = useSending();
  const fill = () =>
    sending.run(async () => {
      const { CallbackSecret } = await get<Secret>(path`/api/v1/apps/${appId}/secret`);
      setRead({ appId, secret: CallbackSecret });
    });
  // Another app may have been chosen while it was read.
  const secret = read?.appId === appId ? read.secret : null;
  const app = apps.find(one => one.AppId === appId);
  const shown = snippets.find(one => one.file === query.value.get('file')) ?? snippets[0];
  return (
    <Card
      title="Verify a callback"
      text="Complete and tested. Read the raw body, check the signature over it, credit once per RewardId, answer 200 quickly."
    >
      <div class="row">
        <Choices
          label="Language"
          value={shown.file}
          items={snippets.map(({ file, name }) => ({ value: file, title: name }))}
          onChange={file => setQuery({ file })}
        />
      </div>
      {apps.length > 0 && (
        <div class="row">
          {apps.length > 1 && (
            <SelectField
              label="With the values of"
              value={appId}
              items={apps.map(one => ({ value: one.AppId, title: one.Name || one.AppId }))}
              onChange={id => {
                setAppId(id);
                setRead(null);
              }}
            />
          )}
          {may('apps:write') &&
            (secret ? (
              <Button size="small" onClick={() => setRead(null)}>
                Hide the secret
              </Button>
            ) : (
              <Button size="small" busy={sending.busy} onClick={fill}>
                Fill in the secret
              </Button>
            ))}
        </div>
      )}
      <ProblemNotice problem={sending.problem} />
      <Code
        title={`${shown.file}${app ? `, ${app.Name || app.AppId}` : ''}`}
        text={withSecret(shown.text, secret)}
        lines
      />
    </Card>
  );
}
