// Tables that become cards on a narrow screen. The roles are said outright, because a table that
// is laid out otherwise loses its own.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Decimal } from '../lib/decimal';

export interface Column<T> {
  title: string;
  cell: (row: T) => ComponentChildren;
  right?: boolean;
  /** As wide as its widest word, on one line: states, types, times, buttons. */
  tight?: boolean;
  /** What the row is about: its heading where the rows are cards. The first column, unless said. */
  heads?: boolean;
  /** What the rows can be sorted by; those without a value are last. */
  sort?: (row: T) => Decimal | string | null;
  /** Of all rows, below them. */
  total?: ComponentChildren;
}

interface Sorting {
  title: string;
  /** The greatest first. */
  down: boolean;
}

function sorted<T>(rows: T[], columns: Column<T>[], sorting: Sorting | null): T[] {
  const valueOf = columns.find(column => column.title === sorting?.title)?.sort;
  if (!valueOf) return rows;
  const sign = sorting!.down ? -1 : 1;
  return [...rows].sort((one, other) => {
    const [a, b] = [valueOf(one), valueOf(other)];
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    const order =
      typeof a === 'string'
        ? a < (b as string)
          ? -1
          : a > (b as string)
            ? 1
            : 0
        : a.compare(b as Decimal);
    return sign * order;
  });
}

function Heading<T>(props: {
  column: Column<T>;
  sorting: Sorting | null;
  sortBy: (sorting: Sorting) => void;
}) {
  const { column, sorting, sortBy } = props;
  if (!column.title) return <span class="unseen">Actions</span>;
  if (!column.sort) return <>{column.title}</>;
  const down = sorting?.title === column.title ? sorting.down : null;
  return (
    <button
      type="button"
      class="sort"
      onClick={() => sortBy({ title: column.title, down: down === null ? !!column.right : !down })}
    >
      {column.title}
      <span aria-hidden="true">{down === null ? '' : down ? ' ↓' : ' ↑'}</span>
    </button>
  );
}

interface TableProps<T> {
  label: string;
  columns: Column<T>[];
  rows: T[];
  rowKey: (row: T) => string;
  /** How many are shown, of those that are sorted. */
  most?: number;
  /** Each row is one line on a desk, and a short card on a phone. */
  lines?: boolean;
}

export function Table<T>({ label, columns, rows, rowKey, most, lines }: TableProps<T>) {
  const [sorting, setSorting] = useState<Sorting | null>(null);
  const heading = columns.find(column => column.heads) ?? columns[0];
  const name = (column: Column<T>) =>
    [column.right && 'right', column.tight && 'tight', column === heading && 'heads']
      .filter(Boolean)
      .join(' ');
  return (
    <table class={`table ${lines ? 'lines' : ''}`} role="table" aria-label={label}>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(column => (
            <th
              key={column.title}
              role="columnheader"
              scope="col"
              data-label={column.title}
              class={name(column)}
              aria-sort={
                sorting?.title !== column.title
                  ? undefined
                  : sorting.down
                    ? 'descending'
                    : 'ascending'
              }
            >
              <Heading column={column} sorting={sorting} sortBy={setSorting} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {sorted(rows, columns, sorting)
          .slice(0, most)
          .map(row => (
            <tr key={rowKey(row)} role="row">
              {columns.map(column => (
                <td key={column.title} role="cell" data-label={column.title} class={name(column)}>
                  <div>{column.cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
      </tbody>
      {rows.length > 1 && columns.some(column => column.total) && (
        <tfoot role="rowgroup">
          <tr role="row">
            {columns.map(column => (
              <td key={column.title} role="cell" data-label={column.title} class={name(column)}>
                <div>{column.total}</div>
              </td>
            ))}
          </tr>
        </tfoot>
      )}
    </table>
  );
}
