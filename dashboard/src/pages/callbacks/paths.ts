// Where a callback is read and shown. One RewardId is also the name of a route, and is reached
// by another spelling (docs/partners/recovery.md).
import { path } from '../../lib/http';
import type { Callback } from '../../lib/types';

export function callbackPath(rewardId: string): string {
  const id = rewardId === 'recover' ? '%72ecover' : encodeURIComponent(rewardId);
  return `/api/v1/callbacks/${id}`;
}

export function callbackPage(rewardId: string): string {
  return `/callbacks/${encodeURIComponent(rewardId)}`;
}

/** Where an operator finds the row's partner; empty for the partner itself. */
export function partnerPage({ PartnerId }: Callback): string {
  return PartnerId === undefined ? '' : path`/partners/${PartnerId}`;
}
