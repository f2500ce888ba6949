// The pages that are in one file of their own, so that the overview is there sooner. It is fetched
// at once where another page was opened, else by the overview when its first figures are painted.
import type { ComponentType } from 'preact';
import type * as Others from '../pages/others';
import { lazy } from './lazy';
import type { PageProps } from './routes';

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

if (location.pathname !== '/') void loadOthers().catch(() => {}); // the page itself says so

type PageName = Exclude<keyof typeof Others, 'OverviewBelow'>;

const pages: Partial<Record<PageName, ComponentType<PageProps>>> = {};

/** One page of them; the same component each time. */
export function other(name: PageName): ComponentType<PageProps> {
  return (pages[name] ??= lazy(
    async () => (await loadOthers())[name],
    () => loaded?.[name] ?? null,
  ));
}
