// A request as a command for a shell. It is pasted as it stands, and what it says came from others:
// nothing in it may end a quote, and no control character may reach the terminal.

const utf8 = new TextEncoder();

function escaped(char: string): string {
  return [...utf8.encode(char)].map(byte => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}

/** One word of a shell; $'...', which some shells do not know, only where it must be. */
export function shellQuoted(text: string): string {
  if (!/[\x00-\x1f\x7f-\x9f]/.test(text)) return `'${text.replace(/'/g, `'\\''`)}'`;
  return `$'${text.replace(/[\\'!\x00-\x1f\x7f-\x9f]/g, escaped)}'`;
}

/** curl leaves out a header that is given as `name:`; `name;` sends it empty. */
function header([name, value]: [string, string]): string {
  return `-H ${shellQuoted(value === '' ? `${name};` : `${name}: ${value}`)}`;
}

/** Said by curl itself, for the body and the address that it sends. */
const byCurl = new Set(['host', 'content-length', 'connection']);

/** --data-raw: a body that begins with @ names no file; --globoff: brackets of a URL are its own.
 * Without a body it is a GET. */
export function curlOf(
  url: string,
  headers: Record<string, string> | null,
  body: string | null,
): string {
  const sent = Object.entries(headers ?? {}).filter(([name]) => !byCurl.has(name.toLowerCase()));
  const parts = [`curl --globoff ${shellQuoted(url)}`, ...sent.map(header)];
  if (body !== null) parts.push(`--data-raw ${shellQuoted(body)}`);
  return parts.join(' \\\n  ');
}
