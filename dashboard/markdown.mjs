// Markdown as the partners' pages use it, as trees that a page is drawn from: no HTML is made. What
// it does not know it refuses, so that nothing is shown as it was not meant.
//
// A block:  ['h', level, words] ['p', words] ['ul' | 'ol', words[]]
//           ['table', words[], words[][]] ['code', language, text, title]
// Words stay Markdown in the bundle, as that is shorter, until they are drawn: `inline` makes
//           texts, ['code', text], ['b', inline], ['a', address, inline]

const inlineMark =
  /`([^`]+)`|\*\*([^*]+(?:\*(?!\*)[^*]*)*)\*\*|\[((?:[^\]`]|`[^`]*`)+)\]\(([^)\s]+)\)/g;

export function inline(text) {
  const found = [];
  let from = 0;
  for (const mark of text.matchAll(inlineMark)) {
    if (mark.index > from) found.push(text.slice(from, mark.index));
    const [all, code, bold, name, to] = mark;
    if (code !== undefined) found.push(['code', code]);
    else if (bold !== undefined) found.push(['b', inline(bold)]);
    else found.push(['a', to, inline(name)]);
    from = mark.index + all.length;
  }
  if (from < text.length) found.push(text.slice(from));
  return found;
}

/** Words without their marks. */
export const plain = words =>
  words.replace(inlineMark, (_, code, bold, name) => code ?? plain(bold ?? name));

/** Words whose links are led: `link` turns an address and its text into those that are shown. */
const led = (words, link) =>
  words.replace(inlineMark, (all, code, bold, name, to) => {
    if (code !== undefined) return all;
    if (bold !== undefined) return `**${led(bold, link)}**`;
    const { address, title } = link(to, name);
    return `[${title}](${address})`;
  });

/** What GitHub makes of a heading, so that links are the same there. */
export const idOf = words =>
  plain(words)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');

/** The cells of a table's line; a bar inside `code` is a letter. */
function cellsOf(line) {
  const inner = line.trim().replace(/^\||\|$/g, '');
  return (inner.match(/(?:`[^`]*`|[^|`])+|(?<=\|)(?=\|)/g) ?? []).map(cell => cell.trim());
}

const starts = /^(#{1,6} |```|\||- |\d+\. |\s*$)/;

export function blocksOf(markdown, link) {
  const lines = markdown.split('\n');
  const blocks = [];
  const marks = new Map();
  let heading = '';
  const within = text => led(text, link);
  const refuse = (at, why) => {
    throw new Error(`line ${at + 1}: ${why}: ${lines[at]}`);
  };
  /** The lines from `at` on that begin with `mark`, without it. */
  const run = (at, mark) => {
    const all = [];
    for (; at < lines.length && mark.test(lines[at]); at++) all.push(lines[at].replace(mark, ''));
    return all;
  };
  for (let at = 0; at < lines.length;) {
    const line = lines[at];
    if (!line.trim()) {
      at++;
    } else if (line.startsWith('#')) {
      const [, hashes, text] = /^(#{1,3}) (.+)$/.exec(line) ?? refuse(at, 'no heading');
      heading = plain(within(text));
      blocks.push(['h', hashes.length, within(text)]);
      at++;
    } else if (line.startsWith('```')) {
      const end = lines.indexOf('```', at + 1);
      if (end < 0) refuse(at, 'a fence without an end');
      const nth = (marks.get(heading) ?? 0) + 1;
      marks.set(heading, nth);
      const title = nth > 1 ? `${heading} (${nth})` : heading;
      blocks.push(['code', line.slice(3), lines.slice(at + 1, end).join('\n'), title]);
      at = end + 1;
    } else if (line.startsWith('|')) {
      const rows = run(at, /^(?=\|)/).map(cellsOf);
      const width = rows[0].length;
      if (rows.some(row => row.length !== width)) refuse(at, 'rows of different lengths');
      blocks.push(['table', rows[0].map(within), rows.slice(2).map(row => row.map(within))]);
      at += rows.length;
    } else if (/^(- |\d+\. )/.test(line)) {
      const mark = line.startsWith('-') ? /^- / : /^\d+\. /;
      const items = run(at, mark);
      blocks.push([line.startsWith('-') ? 'ul' : 'ol', items.map(within)]);
      at += items.length;
    } else {
      if (/^(\s|<|>|\*|\+ )/.test(line)) refuse(at, 'not known here');
      const text = [];
      for (; at < lines.length && !starts.test(lines[at]); at++) text.push(lines[at]);
      blocks.push(['p', within(text.join(' '))]);
    }
  }
  return blocks;
}
