// What OperationsUrl leads to: a server of the partner's, or a chat.
import type { OperationsFormat } from '../../lib/types';
import { SelectField } from '../../ui/forms';

const items: { value: OperationsFormat; title: string }[] = [
  { value: 'standard', title: 'Standard Webhooks' },
  { value: 'slack', title: 'Slack' },
  { value: 'teams', title: 'Microsoft Teams' },
  { value: 'discord', title: 'Discord' },
];

export function FormatField(props: {
  value: OperationsFormat;
  onChange: (format: OperationsFormat) => void;
  fault?: string;
  disabled: boolean;
}) {
  return (
    <SelectField
      {...props}
      label="Format"
      hint="For a chat, OperationsUrl is the address of its incoming webhook (Teams: of a workflow)."
      items={items}
    />
  );
}
