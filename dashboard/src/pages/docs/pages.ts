// The partners' pages, made from docs/partners by the bundler (dashboard/docs.mjs).
import callbacks from '../../../../docs/partners/README.md';
import endpoints from '../../../../docs/partners/endpoints.md';
import errors from '../../../../docs/partners/errors.md';
import limits from '../../../../docs/partners/limits.md';
import operations from '../../../../docs/partners/operations.md';
import recovery from '../../../../docs/partners/recovery.md';
import reports from '../../../../docs/partners/reports.md';
import statements from '../../../../docs/partners/statements.md';

/** Markdown of a line, until it is drawn (dashboard/markdown.mjs). */
export type Words = string;

export type Block =
  | ['h', number, Words]
  | ['p', Words]
  | ['ul' | 'ol', Words[]]
  | ['table', Words[], Words[][]]
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
