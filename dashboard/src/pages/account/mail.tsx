// Which messages the person gets by e-mail.
import { useState } from 'preact/hooks';
import { useResource } from '../../app/resource';
import { request } from '../../lib/http';
import { Button, Card, ProblemNotice } from '../../ui/basics';
import { Form, SelectField, useSending } from '../../ui/forms';
import { say } from '../../ui/overlay';

type When = 'at_once' | 'daily' | 'never';
type Kind = 'Endpoints' | 'Certificates' | 'Statements' | 'Books';
type Choices = { [kind in Kind]?: When };
type Preferences = Choices & { Email: string; DailyAt: string; SendsMail: boolean };

const kinds: [Kind, string][] = [
  ['Endpoints', 'Callback URLs'],
  ['Certificates', 'Certificates'],
  ['Statements', 'Statements'],
  ['Books', 'Books'],
];
const mine = '/api/v1/session/mail-preferences';

export function MailCard() {
  const { data, problem, reload, take } = useResource<Preferences>(mine);
  const [changed, setChanged] = useState<Choices>({});
  const sending = useSending();
  if (data && !data.SendsMail) return null;
  const save = () =>
    sending.run(async () => {
      take((await request<Preferences>('PATCH', mine, { body: changed })).data);
      setChanged({});
      say('Saved.');
    });
  return (
    <Card title="Messages by e-mail" text="Which ones you get, and when.">
      <ProblemNotice problem={problem} retry={reload} />
      {data && (
        <Form onSend={save} label="Messages by e-mail">
          <div class="grid-2">
            {kinds.map(
              ([kind, label]) =>
                data[kind] && (
                  <SelectField<When>
                    key={kind}
                    label={label}
                    value={changed[kind] ?? data[kind]}
                    onChange={when => setChanged({ ...changed, [kind]: when })}
                    items={[
                      { value: 'never', title: 'No e-mail' },
                      { value: 'at_once', title: 'At once' },
                      { value: 'daily', title: `Once a day, ${data.DailyAt} UTC` },
                    ]}
                    fault={sending.fault(kind)}
                  />
                ),
            )}
          </div>
          <ProblemNotice problem={sending.others(...kinds.map(([kind]) => kind))} />
          <div class="row end">
            <Button
              type="submit"
              kind="primary"
              busy={sending.busy}
              disabled={!kinds.some(([kind]) => changed[kind] && changed[kind] !== data[kind])}
            >
              Save
            </Button>
          </div>
        </Form>
      )}
    </Card>
  );
}
