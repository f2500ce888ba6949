// A card with a list that may be empty or longer than one page.
import type { ComponentChildren } from 'preact';
import type { Pages } from '../app/resource';
import type { Problem } from '../lib/http';
import { Button, Card, Empty, Loading, ProblemNotice } from './basics';

export function ListCard<T>({
  title,
  text,
  list,
  problem,
  create,
  none,
  noneText,
  children,
}: {
  title: string;
  text?: string;
  list: Pages<T>;
  /** Another request's that the rows need. */
  problem?: Problem | null;
  /** A button that makes a first or a further one. */
  create: ComponentChildren;
  none: string;
  noneText: string;
  children: (rows: T[]) => ComponentChildren;
}) {
  const rows = list.data ?? [];
  return (
    <Card title={title} text={text} actions={rows.length > 0 && create} flush>
      <ProblemNotice problem={list.problem ?? problem ?? null} retry={list.reload} />
      {!list.data && list.loading && <Loading />}
      {list.data?.length === 0 && (
        <Empty title={none} action={create || undefined}>
          {noneText}
        </Empty>
      )}
      {rows.length > 0 && children(rows)}
      <MoreRows list={list} />
    </Card>
  );
}

/** The foot of a list that has more pages. */
export function MoreRows<T>({ list }: { list: Pages<T> }) {
  if (!list.more) return null;
  return (
    <div class="table-foot">
      <span />
      <Button size="small" onClick={list.loadMore}>
        Show more
      </Button>
    </div>
  );
}
