// Pages that are fetched when somebody opens them first, so that the others are there sooner.
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Button, Loading, Notice } from '../ui/basics';

const firstPath = location.pathname;

/** now: the page, where it has been loaded already. */
export function lazy<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  now = (): ComponentType<Props> | null => null,
): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  return function LazyPage(props: Props) {
    const [Page, setPage] = useState(() => loaded ?? now());
    const [failed, setFailed] = useState(false);
    useEffect(() => {
      if (Page) return;
      load().then(
        page => {
          loaded = page;
          setPage(() => page);
        },
        () => setFailed(true),
      );
    }, []);
    // The frame has looked for a heading before there was one. The page that the program begins with
    // is left to begin at its top, where the link to skip to the page is.
    useEffect(() => {
      if (location.pathname === firstPath) return;
      const heading = Page && document.querySelector<HTMLElement>('#main h1');
      if (heading && document.activeElement === document.body)
        heading.focus({ preventScroll: true });
    }, [Page]);
    if (Page) return <Page {...props} />;
    if (!failed) return <Loading />;
    return (
      <Notice tone="bad" title="This page could not be loaded">
        The server may have a newer version of it.
        <div class="row">
          <Button size="small" onClick={() => location.reload()}>
            Reload
          </Button>
        </div>
      </Notice>
    );
  };
}
