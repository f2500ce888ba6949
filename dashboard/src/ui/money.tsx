// Amounts, printed from their exact digits.
import { Decimal } from '../lib/decimal';

/** "$1,234.50", "−$0.0125" */
export function usd(amount: Decimal): string {
  const text = amount.format(2);
  return text.startsWith('−') ? `−$${text.slice(1)}` : `$${text}`;
}

export function Usd({ amount }: { amount: Decimal | null | undefined }) {
  if (!amount) return <span class="quiet">–</span>;
  return <span class="number nowrap">{usd(amount)}</span>;
}

export function Amount({ amount }: { amount: Decimal }) {
  return <span class="number nowrap">{amount.format()}</span>;
}

export function count(n: number): string {
  return Decimal.of(n).format();
}
