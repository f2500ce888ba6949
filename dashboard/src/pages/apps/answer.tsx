// What an answer must say beside its 2xx, for servers that answer 200 to what they refuse.
import type { SuccessAnswer } from '../../lib/types';
import { SelectField, TextField } from '../../ui/forms';
import type { TabProps } from './loaded';
import { SettingsCard, type Draft } from './settings';

const kinds = [
  { value: 'any', title: 'Any 2xx' },
  { value: 'Body', title: 'A 2xx whose body is' },
  { value: 'Contains', title: 'A 2xx whose body contains' },
  { value: 'Field', title: 'A 2xx with a JSON field' },
] as const;

type Kind = (typeof kinds)[number]['value'];

const kindOf = (wanted: SuccessAnswer | null): Kind =>
  !wanted ? 'any' : 'Body' in wanted ? 'Body' : 'Contains' in wanted ? 'Contains' : 'Field';

function Fields({ draft }: { draft: Draft }) {
  const text = draft.text('SuccessAnswer');
  const wanted = text ? (JSON.parse(text) as SuccessAnswer) : null;
  const kind = kindOf(wanted);
  const set = (next: SuccessAnswer | null) =>
    draft.set('SuccessAnswer', next && JSON.stringify(next));
  const choose = (next: Kind) => {
    const kept = wanted?.Body ?? wanted?.Contains ?? wanted?.Value ?? '';
    if (next === 'any') set(null);
    else set(next === 'Field' ? { Field: '', Value: kept } : { [next]: kept });
  };
  const field = (name: keyof SuccessAnswer, label: string, hint?: string) => (
    <TextField
      label={label}
      hint={hint}
      mono
      value={wanted?.[name] ?? ''}
      onChange={value => set({ ...wanted, [name]: value })}
      fault={draft.fault(name)}
    />
  );
  return (
    <>
      <SelectField
        label="Success is"
        value={kind}
        onChange={choose}
        items={kinds}
        fault={draft.fault('SuccessAnswer')}
      />
      {kind === 'Body' && field('Body', 'Body', 'Leading and trailing white space is ignored.')}
      {kind === 'Contains' && field('Contains', 'Text')}
      {kind === 'Field' && (
        <>
          {field(
            'Field',
            'Field',
            'A name such as status, or a JSON Pointer such as /result/code.',
          )}
          {field('Value', 'Value')}
        </>
      )}
    </>
  );
}

export function SuccessCard(props: TabProps) {
  const wanted = props.app.SuccessAnswer;
  return (
    <SettingsCard
      {...props}
      title="Success answer"
      text="What counts as delivered, for all three URLs of the app. Other answers are retried. Only the first 4 KiB of a body are checked."
      values={{ SuccessAnswer: wanted && JSON.stringify(wanted) }}
      json={{ name: 'SuccessAnswer', members: ['Body', 'Contains', 'Field', 'Value'] }}
    >
      {draft => <Fields draft={draft} />}
    </SettingsCard>
  );
}
