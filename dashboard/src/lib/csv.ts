// CSV for spreadsheets (RFC 4180), and files that the browser saves.
import type { Decimal } from './decimal';

/** Null: an empty cell. */
type Cell = string | number | boolean | Decimal | null;

/** A partner chooses its name, and a spreadsheet runs a text that begins like a formula: an
 * apostrophe before it, as in the server's own CSV. Numbers stay numbers, below zero too. */
const guarded = (cell: Cell) =>
  typeof cell === 'string' ? cell.replace(/^[=+\-@\t\r\n]/, "'$&") : String(cell ?? '');

const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);

/** Lines of cells; each line ends with CRLF. */
export function csvOf(lines: Cell[][]): string {
  return lines.map(cells => `${cells.map(cell => quoted(guarded(cell))).join(',')}\r\n`).join('');
}

export function saveCsv(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
