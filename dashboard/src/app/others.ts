// The pages that are in one file of their own, so that the overview is there sooner. It is fetched
// at once where another page was opened, else when the overview is drawn.
import type { ComponentType } from 'preact';
import type * as Others from '../pages/others';
import { lazy } from './lazy';
import type { PageProps } from './routes';

const DRAWN_MS = 1500;

let loading: Promise<typeof Others> | null = null;
let loaded: typeof Others | null = null;

export function loadOthers(): Promise<typeof Others> {
  loading ??= import('../pages/others').then(
    module => (loaded = module),
    problem => {
      loading = null;
      throw problem;
    },
  );
  return loading;
}

if (location.pathname === '/') setTimeout(() => void loadOthers().catch(() => {}), DRAWN_MS);
else void loadOthers().catch(() => {}); // the page itself says so

const pages: Partial<Record<keyof typeof Others, ComponentType<PageProps>>> = {};

/** One page of them; the same component each time. */
export function other(name: keyof typeof Others): ComponentType<PageProps> {
  return (pages[name] ??= lazy(
    async () => (await loadOthers())[name],
    () => loaded?.[name] ?? null,
  ));
}
