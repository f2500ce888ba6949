// The rows of the log, of one partner or of all.
import type { ComponentChildren } from 'preact';
import type { AccountEndpoints, Callback, List } from '../../lib/types';
import { Button, Loading, Time } from '../../ui/basics';
import { Chosen, isolated } from '../../ui/chosen';
import { Amount } from '../../ui/money';
import { Table, type Column } from '../../ui/table';
import type { Log } from './log';
import { heldBy, Progress, Result } from './progress';
import { typeTitles } from './words';

interface Shown {
  /** What leads to the callback. */
  link: (row: Callback) => ComponentChildren;
  nameOf: (appId: string) => string;
  health: AccountEndpoints | null;
}

export function columnsFor({ link, nameOf, health }: Shown): Column<Callback>[] {
  return [
    { title: 'RewardId', heads: true, cell: link },
    {
      title: 'State',
      tight: true,
      cell: row => <Progress row={row} held={heldBy(row, health)} />,
    },
    {
      title: 'Last result',
      cell: row => <Result row={row} held={heldBy(row, health)} />,
    },
    {
      title: 'App and type',
      cell: row => (
        <span title={`${isolated(nameOf(row.AppId))}, ${typeTitles[row.RewardType]}`}>
          <Chosen text={nameOf(row.AppId)} />{' '}
          <span class="small quiet">{typeTitles[row.RewardType]}</span>
        </span>
      ),
    },
    {
      title: 'PanelistId',
      cell: row => (
        <span class="mono" title={row.PanelistId}>
          {row.PanelistId}
        </span>
      ),
    },
    { title: 'Reward', right: true, tight: true, cell: row => <Amount amount={row.Reward} /> },
    { title: 'Accepted', tight: true, cell: row => <Time at={row.CreatedAt} short /> },
  ];
}

/** none: what is said where there are no rows. */
export function LogRows<L extends List<Callback>>(props: {
  log: Log<L>;
  columns: Column<Callback>[];
  none: ComponentChildren;
}) {
  const { log, columns, none } = props;
  const rows = log.data ?? [];
  return (
    <>
      {!log.data && log.loading && <Loading what="Loading callbacks" />}
      {log.data && !rows.length && !log.more && none}
      {rows.length > 0 && (
        <div {...log.reading}>
          <Table
            label="Callbacks"
            lines
            rows={rows}
            rowKey={row => `${row.PartnerId} ${row.RewardId}`}
            columns={columns}
          />
        </div>
      )}
      {log.more && (
        <div class="table-foot">
          <span class="quiet">
            {rows.length ? `${rows.length} shown` : 'No match among the newest callbacks'}
          </span>
          <Button size="small" onClick={log.loadMore}>
            {rows.length ? 'Show more' : 'Search older callbacks'}
          </Button>
        </div>
      )}
    </>
  );
}
