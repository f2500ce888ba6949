// The card that filters stand in. On a phone it is folded, so that what they filter is seen first;
// it opens by itself where one is set.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Card } from './basics';

const wide = window.matchMedia('(min-width: 48rem)');

function useWide(): boolean {
  const [is, setIs] = useState(wide.matches);
  useEffect(() => {
    const changed = () => setIs(wide.matches);
    wide.addEventListener('change', changed);
    return () => wide.removeEventListener('change', changed);
  }, []);
  return is;
}

export function FilterCard({ set, children }: { set: boolean; children: ComponentChildren }) {
  const [opened] = useState(set);
  if (useWide()) return <Card>{children}</Card>;
  return (
    <Card>
      <details class="fold" open={opened}>
        <summary>Filters</summary>
        <div class="stack">{children}</div>
      </details>
    </Card>
  );
}
