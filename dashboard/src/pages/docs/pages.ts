// The partners' pages, made from docs/partners by the bundler (dashboard/docs.mjs).
import callbacks from '../../../../docs/partners/README.md';
import endpoints from '../../../../docs/partners/endpoints.md';
import errors from '../../../../docs/partners/errors.md';
import limits from '../../../../docs/partners/limits.md';
import operations from '../../../../docs/partners/operations.md';
import recovery from '../../../../docs/partners/recovery.md';
import reports from '../../../../docs/partners/reports.md';
import statements from '../../../../docs/partners/statements.md';

export type Inline = string | ['code', string] | ['b', Inline[]] | ['a', string, Inline[]];

export type Block =
  | ['h', number, string, Inline[]]
  | ['p', Inline[]]
  | ['ul' | 'ol', Inline[][]]
  | ['table', Inline[][], Inline[][][]]
  | ['code', string, string, string];

export interface DocPage {
  slug: string;
  title: string;
  blocks: Block[];
}

export const docPages: DocPage[] = [
  callbacks,
  errors,
  endpoints,
  recovery,
  operations,
  reports,
  statements,
  limits,
];

export function plain(parts: Inline[]): string {
  const text = (part: Inline): string => {
    if (typeof part === 'string') return part;
    if (part[0] === 'code') return part[1];
    return plain(part[0] === 'a' ? part[2] : part[1]);
  };
  return parts.map(text).join('');
}
