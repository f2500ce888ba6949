// Searching the partners' pages: sections that have all words, those first whose headings do.
import { idOf, plain } from '../../../markdown.mjs';
import { docPages, type Block } from './pages';

export interface Section {
  href: string;
  page: string;
  heading: string;
  text: string;
}

function textOf(block: Block): string {
  switch (block[0]) {
    case 'h':
      return '';
    case 'p':
      return plain(block[1]);
    case 'code':
      return block[2];
    case 'table':
      return [block[1], ...block[2]].map(row => row.map(plain).join(' ')).join(' ');
    default:
      return block[1].map(plain).join(' ');
  }
}

function sectionsOf(): Section[] {
  const sections: Section[] = [];
  for (const { slug, title, blocks } of docPages) {
    let section: Section = { href: `/docs/${slug}`, page: title, heading: '', text: '' };
    sections.push(section);
    for (const block of blocks) {
      if (block[0] === 'h') {
        const href = `/docs/${slug}#${idOf(block[2])}`;
        section = { href, page: title, heading: plain(block[2]), text: '' };
        sections.push(section);
      } else {
        section.text += `${textOf(block)} `;
      }
    }
  }
  return sections;
}

let all: Section[] | null = null;

export const wordsOf = (asked: string) => asked.toLowerCase().split(/\s+/).filter(Boolean);

export function find(asked: string): Section[] {
  const words = wordsOf(asked);
  const has = (text: string) => words.every(word => text.toLowerCase().includes(word));
  all ??= sectionsOf();
  const found = all.filter(one => has(`${one.page} ${one.heading} ${one.text}`));
  const inHeading = (one: Section) => has(one.heading || one.page);
  return [...found.filter(inHeading), ...found.filter(one => !inHeading(one))];
}

/** Some text around the first of the words, in three parts: before it, itself, and after it. */
export function excerpt(text: string, words: string[]): [string, string, string] {
  const low = text.toLowerCase();
  const places = words.map(word => low.indexOf(word));
  const which = places.findIndex(at => at >= 0);
  if (which < 0) return [text.slice(0, 160), '', ''];
  const at = places[which]!;
  const end = at + words[which]!.length;
  const from = Math.max(0, at - 60);
  return [
    (from ? '…' : '') + text.slice(from, at),
    text.slice(at, end),
    text.slice(end, end + 120),
  ];
}
