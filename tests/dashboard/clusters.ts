// Clusters in each state, in the answer of a daemon that has none: moves take servers of their own
// (tests/postgresql/test_move.py holds what the daemon answers while one runs).
import type { Cluster, ClusterMove } from '../../dashboard/src/lib/types';
import type { Window } from './browser';

const MiB = 2 ** 20;

export const move: ClusterMove = {
  Step: 'copying',
  Server: 'db3.internal:5432',
  TablesCopied: 3,
  Tables: 22,
  Bytes: 1900 * MiB,
  BehindBytes: 89 * 1024,
  Errors: 0,
  Running: true,
};

export const cluster = (number: number, more: Partial<Cluster> = {}): Cluster => ({
  Number: number,
  Server: `db${number}.internal:5432`,
  Database: `postbackd_${number}`,
  Bytes: 5360 * MiB,
  Partners: 12,
  Events: 9_310_077,
  RecentEvents: 160_310,
  Pending: 118,
  State: 'in_use',
  ShouldMove: false,
  Move: null,
  ...more,
});

export const away = (number: number): Cluster =>
  cluster(number, {
    Server: null,
    Database: null,
    Bytes: null,
    Events: null,
    RecentEvents: null,
    Pending: null,
    State: 'away',
  });

/** What an operator may have to tell apart. */
export const everyKind: Cluster[] = [
  cluster(0),
  cluster(1, { State: 'moving', Move: move }),
  cluster(2, { State: 'moving', Move: { ...move, Step: 'following', Running: false } }),
  cluster(3, { State: 'moved', Move: { ...move, Step: 'switched', Server: 'db0.internal:5432' } }),
  away(4),
];

/** From now on the system page is answered with these; what is changed in the list is shown at the next question. */
export async function answerWith(window: Window, clusters: Cluster[]): Promise<void> {
  await window.page.route('**/api/v1/system', async route => {
    const answer = await route.fetch();
    const json = { ...(await answer.json()), ClusterList: clusters };
    await route.fulfill({ response: answer, json });
  });
}
