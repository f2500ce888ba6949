// Amounts, printed from their exact digits.
import { Decimal } from '../lib/decimal';

const withDollar = (text: string) => (text.startsWith('−') ? `−$${text.slice(1)}` : `$${text}`);

/** Every digit: "$1,234.50", "−$0.0125" */
export function usd(amount: Decimal): string {
  return withDollar(amount.format(2));
}

/** Whole cents, rounded half away from zero: "$1.47"; "<$0.01" for less than that. */
export function usdInCents(amount: Decimal): string {
  const cents = amount.rounded(2);
  if (cents.isZero && !amount.isZero) return amount.isNegative ? '−<$0.01' : '<$0.01';
  return withDollar(cents.format(2));
}

/** How values of a report are printed: money in whole cents, unless every digit is asked for. */
export function formatFor(money: boolean, exact = false): (value: Decimal) => string {
  return money ? (exact ? usd : usdInCents) : value => value.format();
}

/** In whole cents; the exact amount is what one sees who points at it. */
export function Cents({ amount }: { amount: Decimal }) {
  const [short, exact] = [usdInCents(amount), usd(amount)];
  return (
    <span class="number nowrap" title={short === exact ? undefined : `Exactly ${exact}`}>
      {short}
    </span>
  );
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

/** "1 callback", "1,200 callbacks" */
export const countOf = (n: number, what: string) => `${count(n)} ${what}${n === 1 ? '' : 's'}`;

/** "+12 %"; null where there was nothing to grow from. */
export function change(now: Decimal | null, then: Decimal | null): string | null {
  if (!now || !then) return null;
  const percent = now.minus(then).times(Decimal.of(100)).dividedBy(then, 0);
  if (!percent || then.isNegative) return null;
  return `${percent.isNegative || percent.isZero ? '' : '+'}${percent.format()} %`;
}

/** "▲ +12 %"; nothing where there is nothing to compare. */
export function Change({ now, then }: { now: Decimal | null; then: Decimal | null }) {
  const grown = change(now, then);
  if (!grown) return null;
  const order = now!.compare(then!);
  const arrow = order > 0 ? '▲ ' : order < 0 ? '▼ ' : '';
  return (
    <span class={`nowrap ${order > 0 ? 'up' : order < 0 ? 'down' : ''}`}>
      <span aria-hidden="true">{arrow}</span>
      {grown}
    </span>
  );
}
