// The address bar is the page's state: what is looked at can be linked to and comes back after a
// reload. Links are plain <a href>; a click on one is taken here.
import { signal } from '../lib/signal';
import { withQuery, type Query } from '../lib/http';

interface Address {
  path: string;
  query: URLSearchParams;
  hash: string;
}

function read(): Address {
  const { pathname, search, hash } = window.location;
  return { path: pathname, query: new URLSearchParams(search), hash };
}

export const address = signal<Address>(read());
export const query = {
  get value() {
    return address.value.query;
  },
};
/** Whether somebody came back here: by the browser's button, or by the link above the heading. */
export const cameBack = signal(false);

export function navigate(to: string, replace = false, back = false): void {
  cameBack.value = back;
  if (replace) history.replaceState(null, '', to);
  else history.pushState(null, '', to);
  address.value = read();
}

/** Changes some of the query's parameters and keeps the others; empty ones are left out. */
export function setQuery(changes: Query, replace = true): void {
  const all: Query = { ...Object.fromEntries(query.value), ...changes };
  for (const [name, value] of Object.entries(all)) if (value === false) delete all[name];
  navigate(withQuery(address.value.path, all), replace);
}

/** The {names} of a pattern, decoded; null: another path. */
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const left = pattern.split('/');
  const right = path.split('/');
  if (left.length !== right.length) return null;
  const found: Record<string, string> = {};
  for (const [i, part] of left.entries()) {
    const given = right[i] ?? '';
    if (!part.startsWith('{')) {
      if (part !== given) return null;
      continue;
    }
    try {
      found[part.slice(1, -1)] = decodeURIComponent(given);
    } catch {
      return null;
    }
  }
  return found;
}

function clicked(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element).closest?.('a');
  if (!link || link.target || link.hasAttribute('download')) return;
  if (link.origin !== window.location.origin || link.pathname === '/openapi.json') return;
  const { pathname, search } = window.location;
  if (link.hash && link.pathname === pathname && link.search === search) return;
  event.preventDefault();
  if (link.href !== window.location.href)
    navigate(link.pathname + link.search + link.hash, false, !!link.closest('.crumbs'));
}

export function startRouter(): void {
  document.addEventListener('click', clicked);
  window.addEventListener('popstate', () => {
    cameBack.value = true;
    address.value = read();
  });
  window.addEventListener('hashchange', () => (address.value = read()));
}
