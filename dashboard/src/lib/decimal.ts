// Exact decimals: amounts are read, summed and printed without binary floating point.

/** units / 10^scale, and the text it was read from, so that it prints as it came. */
export class Decimal {
  private constructor(
    readonly units: bigint,
    readonly scale: number,
    private readonly text?: string,
  ) {}

  static readonly zero = new Decimal(0n, 0, '0');

  /** Null: the text is no decimal number. Exponents are taken where they are small. */
  static parse(text: string): Decimal | null {
    const parts = /^([-+]?)(\d+)(?:\.(\d*))?(?:[eE]([-+]?\d{1,2}))?$/.exec(text.trim());
    if (!parts) return null;
    const fraction = parts[3] ?? '';
    const exponent = Number(parts[4] ?? '0');
    let units = BigInt(parts[2] + fraction) * (parts[1] === '-' ? -1n : 1n);
    let scale = fraction.length - exponent;
    if (scale < 0) {
      units *= 10n ** BigInt(-scale);
      scale = 0;
    }
    return new Decimal(units, scale, exponent ? undefined : text.trim());
  }

  static of(count: number | bigint): Decimal {
    return new Decimal(BigInt(count), 0);
  }

  private at(scale: number): bigint {
    return this.units * 10n ** BigInt(scale - this.scale);
  }

  plus(other: Decimal): Decimal {
    const scale = Math.max(this.scale, other.scale);
    return new Decimal(this.at(scale) + other.at(scale), scale);
  }

  minus(other: Decimal): Decimal {
    return this.plus(other.negated());
  }

  negated(): Decimal {
    return new Decimal(-this.units, this.scale);
  }

  times(other: Decimal): Decimal {
    return new Decimal(this.units * other.units, this.scale + other.scale);
  }

  /** Rounded half away from zero to so many digits; null where the divisor is zero. */
  dividedBy(other: Decimal, digits: number): Decimal | null {
    if (other.units === 0n) return null;
    const up = 10n ** BigInt(digits + other.scale);
    const down = 10n ** BigInt(this.scale);
    return new Decimal(roundedQuotient(this.units * up, other.units * down), digits);
  }

  /** Rounded half away from zero. */
  rounded(digits: number): Decimal {
    if (digits >= this.scale) return new Decimal(this.at(digits), digits);
    return new Decimal(roundedQuotient(this.units, 10n ** BigInt(this.scale - digits)), digits);
  }

  compare(other: Decimal): number {
    const scale = Math.max(this.scale, other.scale);
    const difference = this.at(scale) - other.at(scale);
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  }

  get isZero(): boolean {
    return this.units === 0n;
  }

  get isNegative(): boolean {
    return this.units < 0n;
  }

  /** As it was read; a computed one with at least so many digits and no further zeros. */
  toString(leastDigits = 0): string {
    if (this.text !== undefined) return this.text;
    const digits = (this.units < 0n ? -this.units : this.units)
      .toString()
      .padStart(this.scale + 1, '0');
    const whole = digits.slice(0, digits.length - this.scale);
    let fraction = digits.slice(digits.length - this.scale);
    while (fraction.length > leastDigits && fraction.endsWith('0'))
      fraction = fraction.slice(0, -1);
    fraction = fraction.padEnd(leastDigits, '0');
    return `${this.units < 0n ? '-' : ''}${whole}${fraction ? `.${fraction}` : ''}`;
  }

  /** For people: groups of three, a true minus sign, at least so many digits. */
  format(leastDigits = 0): string {
    const [whole = '', given = ''] = this.toString(leastDigits).replace(/^[-+]/, '').split('.');
    const fraction = given.padEnd(leastDigits, '0');
    const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
    return `${this.isNegative ? '−' : ''}${grouped}${fraction ? `.${fraction}` : ''}`;
  }

  /** How much of `whole` this is, for drawing only: what is printed never comes from it. */
  shareOf(whole: Decimal): number {
    const parts = this.times(Decimal.of(1_000_000n)).dividedBy(whole, 0);
    return parts ? Number(parts.units) / 1_000_000 : 0;
  }
}

function roundedQuotient(top: bigint, bottom: bigint): bigint {
  const negative = top < 0n !== bottom < 0n;
  const a = top < 0n ? -top : top;
  const b = bottom < 0n ? -bottom : bottom;
  const rounded = (a * 2n + b) / (b * 2n);
  return negative ? -rounded : rounded;
}

export function sum(amounts: Iterable<Decimal>): Decimal {
  let total = Decimal.of(0);
  for (const amount of amounts) total = total.plus(amount);
  return total;
}
