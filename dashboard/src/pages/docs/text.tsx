// A page of docs/partners, drawn from its trees. What is filled in is text like any other.
import type { ComponentChildren } from 'preact';
import { idOf, inline, plain, type Inline } from '../../../markdown.mjs';
import { Code } from '../../ui/basics';
import type { Block, Words } from './pages';

/** Puts the partner's values into a command or a path. */
export type Fill = (text: string) => string;

function Parts({ parts, fill }: { parts: Inline[]; fill: Fill }) {
  return (
    <>
      {parts.map((part, n): ComponentChildren => {
        if (typeof part === 'string') return part;
        switch (part[0]) {
          case 'code':
            return <code key={n}>{fill(part[1] === 'URL' ? '$URL' : part[1])}</code>;
          case 'b':
            return (
              <strong key={n}>
                <Parts parts={part[1]} fill={fill} />
              </strong>
            );
          case 'a':
            return (
              <a key={n} href={part[1]}>
                <Parts parts={part[2]} fill={fill} />
              </a>
            );
        }
      })}
    </>
  );
}

const Line = ({ words, fill }: { words: Words; fill: Fill }) => (
  <Parts parts={inline(words)} fill={fill} />
);

function DocTable({ head, rows, fill }: { head: Words[]; rows: Words[][]; fill: Fill }) {
  return (
    <table role="table">
      <thead role="rowgroup">
        <tr role="row">
          {head.map((cell, n) =>
            cell.length ? (
              <th key={n} role="columnheader" scope="col">
                <Line words={cell} fill={fill} />
              </th>
            ) : (
              <td key={n} role="cell" />
            ),
          )}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row, n) => (
          <tr key={n} role="row">
            {row.map((cell, m) => (
              <td key={m} role="cell" data-label={plain(head[m]!) || undefined}>
                <Line words={cell} fill={fill} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function DocBlock({ block, fill }: { block: Block; fill: Fill }) {
  switch (block[0]) {
    case 'h': {
      const Heading = block[1] === 2 ? 'h2' : 'h3';
      return (
        <Heading id={idOf(block[2])}>
          <Line words={block[2]} fill={fill} />
        </Heading>
      );
    }
    case 'p':
      return (
        <p>
          <Line words={block[1]} fill={fill} />
        </p>
      );
    case 'table':
      return <DocTable head={block[1]} rows={block[2]} fill={fill} />;
    case 'code': {
      const [, language, text, title] = block;
      const typed = language === 'sh';
      return <Code title={title} text={typed ? fill(text) : text} lines={text.includes('\n')} />;
    }
    default: {
      const List = block[0];
      return (
        <List>
          {block[1].map((item, n) => (
            <li key={n}>
              <Line words={item} fill={fill} />
            </li>
          ))}
        </List>
      );
    }
  }
}

export function DocText({ blocks, fill }: { blocks: Block[]; fill: Fill }) {
  return (
    <article class="doc">
      {blocks.map((block, n) => (
        <DocBlock key={n} block={block} fill={fill} />
      ))}
    </article>
  );
}
