// JSON in and out without losing a digit. JSON.parse turns 0.10 into a float; here a number that
// stands under an amount's name, or that a float could not hold, becomes a Decimal. All others
// (counts, sizes, durations) are plain numbers.
import { Decimal } from './decimal';

const amounts = new Set([
  'Arpdau',
  'CurrencyValue',
  'DisqualificationReward',
  'Earnings',
  'RevenueAmount',
  'Reward',
]);

export class JsonError extends Error {
  constructor(
    what: string,
    readonly at: number,
  ) {
    super(`${what} at character ${at + 1}`);
  }
}

/** What a member's number becomes; the name of the innermost member it stands under. */
type Numbers = (text: string, name: string | null) => unknown;

const exact: Numbers = (text, name) => {
  if (/^-?\d{1,15}$/.test(text) && !(name && amounts.has(name))) return Number(text);
  return Decimal.parse(text) ?? text;
};

export function parseJson(text: string, numbers: Numbers = exact): unknown {
  return new Reader(text, numbers).whole();
}

const token =
  /\s*(?:([{}[\],:])|("(?:[^"\\\u0000-\u001f]|\\.)*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)|(true|false|null)|$)/y;
const depthMost = 100;

class Reader {
  private at = 0;
  private depth = 0;
  private match: RegExpExecArray | null = null;

  constructor(
    private readonly text: string,
    private readonly numbers: Numbers,
  ) {}

  whole(): unknown {
    this.next();
    const value = this.value(null);
    if (this.match?.[0].trim()) this.refuse('Something stands behind the end');
    return value;
  }

  private refuse(what: string): never {
    throw new JsonError(what, this.at);
  }

  private next(): void {
    token.lastIndex = this.at;
    this.match = token.exec(this.text);
    if (!this.match) this.refuse('No JSON');
    this.at = token.lastIndex;
  }

  private value(name: string | null): unknown {
    const [, sign, string, number, word] = this.match!;
    if (string !== undefined) return this.done(JSON.parse(string) as string);
    if (number !== undefined) return this.done(this.numbers(number, name));
    if (word !== undefined) return this.done(word === 'null' ? null : word === 'true');
    if (++this.depth > depthMost) this.refuse('Nested too deeply');
    const nested = sign === '{' ? this.object() : sign === '[' ? this.array(name) : null;
    if (nested === null) this.refuse('A value is missing');
    this.depth--;
    return this.done(nested);
  }

  private done<T>(value: T): T {
    this.next();
    return value;
  }

  private sign(): string | undefined {
    return this.match![1];
  }

  private array(name: string | null): unknown[] {
    const items: unknown[] = [];
    this.next();
    if (this.sign() === ']') return items;
    for (;;) {
      items.push(this.value(name));
      if (this.sign() === ']') return items;
      if (this.sign() !== ',') this.refuse('A comma or ] is missing');
      this.next();
    }
  }

  private object(): Record<string, unknown> {
    const members: Record<string, unknown> = {};
    this.next();
    if (this.sign() === '}') return members;
    for (;;) {
      const quoted = this.match![2];
      if (quoted === undefined) this.refuse('A member’s name is missing');
      const name = JSON.parse(quoted!) as string;
      this.next();
      if (this.sign() !== ':') this.refuse('A colon is missing');
      this.next();
      // Own properties only, whatever the name: "__proto__" is data.
      Object.defineProperty(members, name, {
        value: this.value(name),
        enumerable: true,
        configurable: true,
        writable: true,
      });
      if (this.sign() === '}') return members;
      if (this.sign() !== ',') this.refuse('A comma or } is missing');
      this.next();
    }
  }
}

/** Like JSON.stringify; Decimals are written as numbers, digit for digit. */
export function printJson(value: unknown, indent = ''): string {
  return print(value, indent, '');
}

function print(value: unknown, indent: string, before: string): string {
  if (value instanceof Decimal) return value.toString();
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const inner = before + indent;
  const list = Array.isArray(value);
  const parts = list
    ? value.map(item => print(item, indent, inner))
    : Object.entries(value)
        .filter(([, member]) => member !== undefined)
        .map(([name, m]) => `${JSON.stringify(name)}:${indent && ' '}${print(m, indent, inner)}`);
  const [open, close] = list ? '[]' : '{}';
  if (!parts.length) return `${open}${close}`;
  if (!indent) return `${open}${parts.join(',')}${close}`;
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${before}${close}`;
}
