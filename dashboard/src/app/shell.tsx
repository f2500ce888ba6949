// The frame around every page: navigation, who is signed in, and what everybody should know.
import type { ComponentType } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { reachable } from '../lib/http';
import type { SignedIn } from '../lib/types';
import { Button, Choices, Empty, LinkButton, PageHead } from '../ui/basics';
import { Chosen } from '../ui/chosen';
import { Icon, Mark } from '../ui/icons';
import { Toasts } from '../ui/overlay';
import { stopActing } from './acting';
import { address, cameBack, matchPath, navigate } from './router';
import { pages, type Page, type PageProps } from './routes';
import { Search } from './search';
import { may, personOf, signOut } from './session';
import { setTheme, theme } from './theme';

function allowed(page: Page, who: SignedIn): boolean {
  return (page.side === 'both' || page.side === who.Side) && (!page.scope || may(page.scope));
}

function isCurrent(page: Page, path: string): boolean {
  return path === page.path || (page.path !== '/' && path.startsWith(`${page.path}/`));
}

function Navigation({ who }: { who: SignedIn }) {
  const shown = pages.filter(page => page.nav && allowed(page, who));
  const groups = [...new Set(shown.map(page => page.nav!.group))];
  const path = address.value.path;
  return (
    <nav aria-label="Pages">
      {groups.map(group => (
        <div key={group}>
          {group && <div class="nav-title">{group}</div>}
          <ul class="nav-group">
            {shown
              .filter(page => page.nav!.group === group)
              .map(page => (
                <li key={page.path}>
                  <a
                    class="nav-link"
                    href={page.path}
                    aria-current={isCurrent(page, path) ? 'page' : undefined}
                  >
                    <Icon name={page.nav!.icon} />
                    {page.nav!.title}
                  </a>
                </li>
              ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

const themes = [
  { value: 'system', title: 'Auto' },
  { value: 'light', title: 'Light' },
  { value: 'dark', title: 'Dark' },
] as const;

function Side({ who, open, onClose }: { who: SignedIn; open: boolean; onClose: () => void }) {
  return (
    <aside aria-label="Navigation" class={`side ${open ? 'open' : ''}`} id="navigation">
      <a class="brand" href="/">
        <Mark />
        <span>
          postbackd
          <small>{who.Partner?.Name ?? 'Operator'}</small>
        </span>
      </a>
      <div class="side-close">
        <Button kind="plain" aria-label="Close the menu" onClick={onClose}>
          <Icon name="close" />
        </Button>
      </div>
      <Navigation who={who} />
      <div class="side-foot">
        <div class="row apart">
          <div class="who small" title={`${who.User.Name} ${who.User.Email}`.trim()}>
            {who.User.Name || who.User.Email}
          </div>
          <Button
            kind="plain"
            size="small"
            onClick={() => void signOut().then(() => navigate('/'))}
          >
            Sign out
          </Button>
        </div>
        <Choices label="Theme" value={theme.value} items={themes} onChange={setTheme} />
      </div>
    </aside>
  );
}

function Banners({ who }: { who: SignedIn }) {
  return (
    <>
      {who.ActingAs && (
        <div class="banner" role="status">
          <span>
            Viewing as <Chosen text={who.Partner?.Name} />. Read-only, and recorded in the audit
            log.
          </span>
          <Button size="small" onClick={() => void stopActing()}>
            Exit partner view
          </Button>
        </div>
      )}
      {!reachable.value && (
        <div class="banner" role="status">
          Can’t reach the server. What you see may be out of date; retrying every few seconds.
        </div>
      )}
    </>
  );
}

export function NotFoundPage() {
  return (
    <div class="page">
      <PageHead title="Nothing here" />
      <Empty title="Page not found" action={<LinkButton href="/">Go to the overview</LinkButton>}>
        The address may be wrong, or your role has no access to it.
      </Empty>
    </div>
  );
}

function pageFor(who: SignedIn): {
  component: ComponentType<PageProps>;
  params: Record<string, string>;
} {
  for (const page of pages) {
    const params = matchPath(page.path, address.value.path);
    if (params && allowed(page, who)) return { component: page.component, params };
  }
  return { component: NotFoundPage, params: {} };
}

export function Shell({ who }: { who: SignedIn }) {
  const [open, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const path = address.value.path;
  const first = useRef(true);
  const { component: Page, params } = pageFor(who);
  useEffect(() => {
    setOpen(false);
    if (first.current) {
      first.current = false;
      return;
    }
    // A new page begins at its heading, for eyes and for screen readers alike, unless the address
    // names a part of it.
    if (!cameBack.value && !address.value.hash) window.scrollTo(0, 0);
    main.current?.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true });
  }, [path]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <Banners who={who} />
      <div class="shell" onKeyDown={event => event.key === 'Escape' && setOpen(false)}>
        <header class="top">
          <a class="brand" href="/">
            <Mark />
            <span>{who.Partner?.Name ?? 'Operator'}</span>
          </a>
          <Button
            kind="plain"
            aria-label="Open the menu"
            aria-expanded={open}
            aria-controls="navigation"
            onClick={() => setOpen(true)}
          >
            <Icon name="menu" />
          </Button>
        </header>
        <Side who={who} open={open} onClose={() => setOpen(false)} />
        <div>
          {(may('callbacks:read') || may('apps:read')) && <Search key={personOf(who)} />}
          <main class="main" id="main" ref={main}>
            <Page key={`${personOf(who)} ${path}`} params={params} />
          </main>
        </div>
      </div>
      <Toasts />
    </>
  );
}
