// What needs no browser: exact decimals, lossless JSON, dates.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { csvOf } from '../../dashboard/src/lib/csv';
import { curlOf } from '../../dashboard/src/lib/curl';
import { addDays, daysBetween, duration, shortDay } from '../../dashboard/src/lib/dates';
import { Decimal, sum } from '../../dashboard/src/lib/decimal';
import { Problem } from '../../dashboard/src/lib/http';
import { JsonError, parseJson, printJson } from '../../dashboard/src/lib/json';
import { effect, signal } from '../../dashboard/src/lib/signal';
import { presets } from '../../dashboard/src/pages/apps/presets';
import { test } from './runner';

const d = (text: string) => Decimal.parse(text)!;

test('lib: decimals are exact', () => {
  assert.equal(d('0.1').plus(d('0.2')).toString(), '0.3');
  assert.equal(sum(Array.from({ length: 1000 }, () => d('0.001'))).toString(2), '1.00');
  assert.equal(d('9007199254740993.01').plus(d('0.01')).toString(), '9007199254740993.02');
  assert.equal(d('-1.50').minus(d('0.25')).toString(2), '-1.75');
  assert.equal(d('5e-06').toString(), '0.000005');
  assert.equal(Decimal.parse('1,5'), null);
  assert.equal(Decimal.parse(''), null);
});

test('lib: decimals round half away from zero', () => {
  assert.equal(d('0.125').rounded(2).toString(), '0.13');
  assert.equal(d('-0.125').rounded(2).toString(), '-0.13');
  assert.equal(d('0.1249').rounded(2).toString(), '0.12');
  assert.equal(d('1').dividedBy(d('3'), 6)!.toString(), '0.333333');
  assert.equal(d('2').dividedBy(d('-3'), 2)!.toString(), '-0.67');
  assert.equal(d('1').dividedBy(Decimal.zero, 2), null);
});

test('lib: decimals print as they came, and for people', () => {
  assert.equal(d('72.00').toString(), '72.00');
  assert.equal(d('72.00').format(), '72.00');
  assert.equal(d('1234567.5').format(2), '1,234,567.50');
  assert.equal(d('-1234.0125').format(2), '−1,234.0125');
  assert.equal(d('100').format(), '100');
});

test('lib: what is wrong with a field begins with a capital letter', () => {
  const of = (Detail: string) =>
    new Problem(400, '', '', [{ Field: 'A', Detail } as never]).of('A');
  assert.equal(of('must be json, form or get'), 'Must be json, form or get');
  assert.equal(of("'x' is not a scope"), "'x' is not a scope");
});

test('lib: JSON keeps every digit of an amount', () => {
  const read = parseJson(
    '{"Reward":72.00,"Earnings":0.1,"Count":3,"Id":12345678901234567890,"X":1.5}',
  );
  const { Reward, Earnings, Count, Id, X } = read as Record<string, any>;
  assert.equal(Reward.toString(), '72.00');
  assert.equal(Earnings.toString(), '0.1');
  assert.equal(Count, 3);
  assert.equal(Id.toString(), '12345678901234567890');
  assert.equal(X.toString(), '1.5');
  assert.equal(
    printJson(read),
    '{"Reward":72.00,"Earnings":0.1,"Count":3,"Id":12345678901234567890,"X":1.5}',
  );
});

test('lib: JSON reads what JSON.parse reads, and refuses what it refuses', () => {
  const good = [
    '{}',
    '[]',
    ' [1, 2 ,3] ',
    '"a\\n\\u00fc"',
    'null',
    '{"a":{"b":[true,false,null]}}',
    '-0',
    '""',
  ];
  for (const text of good) assert.deepEqual(parseJson(text), JSON.parse(text), text);
  const bad = [
    '',
    '{',
    '[1,]',
    '{"a"}',
    '{"a":1,}',
    '01',
    '1 2',
    "'a'",
    '{a:1}',
    '"\n"',
    'nul',
    '[1}',
    '{"a":}',
  ];
  for (const text of bad) {
    assert.throws(() => JSON.parse(text), text);
    assert.throws(() => parseJson(text), JsonError, text);
  }
  assert.throws(() => parseJson('['.repeat(200) + ']'.repeat(200)), JsonError);
});

test('lib: JSON with a member named __proto__ is only data', () => {
  const read = parseJson('{"__proto__":{"polluted":true}}') as object;
  assert.equal(Object.getPrototypeOf(read), Object.prototype);
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
});

test('lib: days are those of UTC', () => {
  assert.equal(addDays('2026-03-01', -1), '2026-02-28');
  assert.equal(addDays('2024-02-28', 1), '2024-02-29');
  assert.deepEqual(daysBetween('2026-12-30', '2027-01-02').length, 4);
  assert.equal(shortDay('2026-11-05'), '5 Nov');
  assert.equal(duration(4200), '4.2 s');
});

test('lib: no text in a CSV is a formula, and every number stays one', () => {
  const texts = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', 'a=b', '', '"=1'];
  assert.equal(csvOf([texts]), `'=1+1,'+1,'-1,'@SUM(A1),'\t=1,"'\r=1","'\n=1",a=b,,"""=1"\r\n`);
  const link = '=HYPERLINK("https://evil.example","Acme")';
  assert.equal(
    csvOf([[link, d('-12.50'), -3, null, true]]),
    `"'=HYPERLINK(""https://evil.example"",""Acme"")",-12.50,-3,,true\r\n`,
  );
});

/** What a shell hands to curl. */
function words(command: string): string[] {
  const script = `curl() { printf '%s\\0' "$@"; }; set -f; eval "$1"`;
  return execFileSync('bash', ['-c', script, 'bash', command]).toString().split('\0').slice(0, -1);
}

test('lib: a request as curl says the same to a shell, whatever stands in it', () => {
  const hostile = [
    `it's "quoted" $(touch /tmp/x) \`id\` $HOME !! \\ \\n * ? [a] {b,c} ~ # ; & | > é 漢 😀`,
    `'; rm -rf / #`,
    `@/etc/passwd`,
    "lines\nand\r\ntabs\t\x1b[201~\x07\u0085 '7!7",
    '',
  ];
  for (const text of hostile) {
    const url = `https://user:***@host.example/a?b=${text}`;
    const command = curlOf(url, { 'webhook-id': text, 'content-length': '3', Host: 'x' }, text);
    assert.doesNotMatch(command.replace(/ \\\n {2}/g, ''), /[\x00-\x1f\x7f-\x9f]/);
    const id = text === '' ? 'webhook-id;' : `webhook-id: ${text}`;
    assert.deepEqual(words(command), ['--globoff', url, '-H', id, '--data-raw', text]);
  }
});

test('lib: an effect runs again when a value that it has read is another one', () => {
  const [read, unread] = [signal(1), signal(1)];
  const seen: number[] = [];
  effect(() => void seen.push(read.value));
  unread.value = 2;
  read.value = 1;
  read.value = 3;
  assert.deepEqual(seen, [1, 3]);
});

test('lib: the URLs of other networks are those of the docs', () => {
  const page = readFileSync('../docs/request-formats.md', 'utf8');
  const rows = page.matchAll(/^\| \[(.+?)\]\(.+?\) \| `https:\/\/p\.example\/cb(.+?)` \|$/gm);
  assert.deepEqual(Object.fromEntries([...rows].map(([, name, end]) => [name, end])), presets);
});
