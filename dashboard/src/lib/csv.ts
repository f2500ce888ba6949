// CSV for spreadsheets (RFC 4180), and files that the browser saves.

const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);

/** Lines of cells; each line ends with CRLF. */
export function csvOf(lines: (string | number | boolean)[][]): string {
  return lines.map(cells => `${cells.map(cell => quoted(String(cell))).join(',')}\r\n`).join('');
}

export function saveCsv(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
