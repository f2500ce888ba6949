// Tables that become cards on a narrow screen. The roles are said outright, because a table that
// is laid out otherwise loses its own.
import type { ComponentChildren } from 'preact';

export interface Column<T> {
  title: string;
  cell: (row: T) => ComponentChildren;
  right?: boolean;
  /** As wide as its widest word, on one line: states, types, times, buttons. */
  tight?: boolean;
  /** What the row is about: its heading where the rows are cards. The first column, unless said. */
  heads?: boolean;
}

interface TableProps<T> {
  label: string;
  columns: Column<T>[];
  rows: T[];
  rowKey: (row: T) => string;
}

export function Table<T>({ label, columns, rows, rowKey }: TableProps<T>) {
  const heading = columns.find(column => column.heads) ?? columns[0];
  const name = (column: Column<T>) =>
    [column.right && 'right', column.tight && 'tight', column === heading && 'heads']
      .filter(Boolean)
      .join(' ');
  return (
    <table class="table" role="table" aria-label={label}>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(column => (
            <th key={column.title} role="columnheader" scope="col" class={name(column)}>
              {column.title || <span class="unseen">Actions</span>}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map(row => (
          <tr key={rowKey(row)} role="row">
            {columns.map(column => (
              <td key={column.title} role="cell" data-label={column.title} class={name(column)}>
                <div>{column.cell(row)}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
