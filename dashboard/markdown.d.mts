export type Inline = string | ['code', string] | ['b', Inline[]] | ['a', string, Inline[]];
export function inline(words: string): Inline[];
export function plain(words: string): string;
export function idOf(words: string): string;
export function blocksOf(
  markdown: string,
  link: (address: string, title: string) => { address: string; title: string },
): unknown[];
