// The log over all partners, for operators. An answer reads a group of partners; what it did not
// read is said.
import { actAs } from '../../app/acting';
import { useResource } from '../../app/resource';
import { query, setQuery } from '../../app/router';
import type { AccountEndpoints, AllCallbacks, Callback } from '../../lib/types';
import { Button, Card, Empty, Notice, PageHead, ProblemNotice } from '../../ui/basics';
import { useSending } from '../../ui/forms';
import { countOf } from '../../ui/money';
import { asked, clearFilters, Filters, isFiltered } from './filters';
import { useLog } from './log';
import { callbackPage, partnerPage } from './paths';
import { columnsFor, LogRows } from './rows';

/** In the address: which group of partners is read; empty for the newest ones. */
const group = () => query.value.get('after') ?? '';

function Away({ away }: { away: number }) {
  if (!away) return null;
  return (
    <Notice tone="warn" title={`${countOf(away, 'partner')} could not be read`}>
      Their database is not reachable, so their callbacks are missing here.
    </Notice>
  );
}

function NoRows({ isWhole }: { isWhole: boolean }) {
  return (
    <Empty
      title={isFiltered() ? 'No callback matches' : 'No callbacks yet'}
      action={isFiltered() && <Button onClick={clearFilters}>Clear the search</Button>}
    >
      {isWhole ? 'Enter complete ids.' : 'Only some of the partners were read.'}
    </Empty>
  );
}

export function AllCallbacksPage() {
  const health = useResource<AccountEndpoints>('/api/v1/endpoints', {}, { everyMs: 30_000 });
  // Each answer reads many partners: it is read again by a button only.
  const log = useLog<AllCallbacks>({ ...asked(), after: group() }, true);
  const acting = useSending();
  const last = log.pages.at(-1);
  const away = Math.max(0, ...log.pages.map(page => page.PartnersAway));
  const viewAs = ({ PartnerId, RewardId }: Callback) => (
    <button
      type="button"
      class="view-as"
      title={RewardId}
      aria-label={`${RewardId}: view as ${PartnerId}`}
      onClick={() => void acting.run(() => actAs(PartnerId!, callbackPage(RewardId)))}
    >
      <bdi class="mono">{RewardId}</bdi>
    </button>
  );
  const [reward, ...others] = columnsFor({
    link: viewAs,
    nameOf: id => id,
    health: health.data,
  });
  return (
    <div class="page">
      <PageHead
        title="Callbacks"
        text="Of all partners, newest first. A RewardId opens in the partner’s view: read-only, and recorded in the audit log."
      />
      <Filters apps={null} />
      <ProblemNotice problem={log.problem ?? acting.problem} retry={log.reload} />
      <Away away={away} />
      <Card
        title="Log"
        text={
          last &&
          `${countOf(last.PartnersRead, 'partner')} read${group() && ', not the newest ones'}`
        }
        flush
        actions={
          <>
            {group() && (
              <Button size="small" onClick={() => setQuery({ after: null }, false)}>
                Newest partners
              </Button>
            )}
            <Button size="small" onClick={log.reload}>
              Refresh
            </Button>
          </>
        }
      >
        <LogRows
          log={log}
          none={<NoRows isWhole={!group() && !away && !last?.NextPartners} />}
          columns={[
            reward!,
            {
              title: 'Partner',
              cell: row => (
                <a title={row.PartnerId} href={partnerPage(row)}>
                  {row.PartnerId}
                </a>
              ),
            },
            ...others,
          ]}
        />
        {last?.NextPartners && (
          <div class="table-foot">
            <span class="quiet">Partners that were created earlier are not in this log.</span>
            <Button size="small" onClick={() => setQuery({ after: last.NextPartners }, false)}>
              Read older partners
            </Button>
          </div>
        )}
      </Card>
    </div>
  );
}
