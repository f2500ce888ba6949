// One partner as the operator sees it: settings, apps, people, keys, and looking as the partner.
import type { PageProps } from '../../app/routes';
import { actAs } from '../../app/acting';
import { useRead } from '../../app/resource';
import { may } from '../../app/session';
import { path, request } from '../../lib/http';
import type { Partner } from '../../lib/types';
import { Badge, Button, Loading, PageHead, ProblemNotice, Tabs } from '../../ui/basics';
import { useSending } from '../../ui/forms';
import { AppsPanel } from '../apps/apps';
import { DeliveriesCard } from '../deliveries/deliveries';
import { KeysPanel } from '../keys/keys';
import { PeoplePanel } from '../people/people';
import { ResendPanel } from './resend';
import { PartnerSettings } from './settings';

const tabs = [
  { name: '', title: 'Apps', scope: 'apps:read' },
  { name: 'deliveries', title: 'Deliveries', scope: 'callbacks:read' },
  { name: 'callbacks', title: 'Callbacks', scope: 'callbacks:write' },
  { name: 'people', title: 'People', scope: 'people:write' },
  { name: 'keys', title: 'API keys', scope: 'keys:write' },
  { name: 'settings', title: 'Settings', scope: 'apps:read' },
] as const;

export interface Loaded {
  partner: Partner;
  etag: string | null;
}

function Tab(props: { name: string; loaded: Loaded; take: (changed: Loaded) => void }) {
  const { name, loaded, take } = props;
  const id = loaded.partner.PartnerId;
  switch (name) {
    case 'deliveries':
      return <DeliveriesCard title="Deliveries" query={{ partnerId: id }} />;
    case 'callbacks':
      return <ResendPanel partner={id} />;
    case 'people':
      return <PeoplePanel partner={id} />;
    case 'keys':
      return <KeysPanel partner={id} />;
    case 'settings':
      return <PartnerSettings {...loaded} take={take} />;
    default:
      return <AppsPanel partner={id} />;
  }
}

function LookAs({ partner }: { partner: Partner }) {
  const sending = useSending();
  return (
    <>
      <Button
        busy={sending.busy}
        onClick={() => void sending.run(() => actAs(partner.PartnerId))}
        title="Read-only, and recorded in the audit log"
      >
        View as partner
      </Button>
      <ProblemNotice problem={sending.problem} />
    </>
  );
}

export function PartnerPage({ params }: PageProps) {
  const id = params['PartnerId']!;
  const current = params['tab'] ?? '';
  const { data, problem, reload, take } = useRead<Loaded>(`partner ${id}`, async signal => {
    const answer = await request<Partner>('GET', path`/api/v1/partners/${id}`, { signal });
    return { partner: answer.data, etag: answer.etag };
  });
  const shown = tabs.filter(tab => may(tab.scope));
  return (
    <div class="page">
      <PageHead
        title={data?.partner.Name || id}
        id={id}
        crumb={{ href: '/partners', title: 'Partners' }}
      >
        {data && !data.partner.Enabled && <Badge tone="warn">off</Badge>}
        {data && <LookAs partner={data.partner} />}
      </PageHead>
      <Tabs
        label="About the partner"
        items={shown.map(tab => ({
          href: tab.name ? path`/partners/${id}/${tab.name}` : path`/partners/${id}`,
          title: tab.title,
          current: tab.name === current,
        }))}
      />
      <ProblemNotice problem={problem} retry={reload} />
      {!data && !problem && <Loading />}
      {data && <Tab name={current} loaded={data} take={take} />}
    </div>
  );
}
