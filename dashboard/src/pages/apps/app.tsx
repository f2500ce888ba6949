// One app: its head and its tabs.
import type { PageProps } from '../../app/routes';
import { useRead } from '../../app/resource';
import { may } from '../../app/session';
import { path, request } from '../../lib/http';
import type { App } from '../../lib/types';
import { Badge, Loading, PageHead, ProblemNotice, Tabs } from '../../ui/basics';
import { KeysPanel } from '../keys/keys';
import { ClientsTab } from './clients';
import { GeneralTab } from './general';
import type { Loaded, TabProps } from './loaded';
import { CallbackTab, PostbackTab } from './urls';

const tabs = [
  { name: '', title: 'General' },
  { name: 'postback', title: 'Postback (surveys)' },
  { name: 'callback', title: 'Callback (offers)' },
  { name: 'clients', title: 'Clients' },
  { name: 'keys', title: 'API keys' },
];

function Tab({ name, ...props }: TabProps & { name: string; here: string }) {
  switch (name) {
    case 'postback':
      return <PostbackTab {...props} />;
    case 'callback':
      return <CallbackTab {...props} />;
    case 'clients':
      return <ClientsTab {...props} />;
    case 'keys':
      return <KeysPanel />;
    default:
      return <GeneralTab {...props} />;
  }
}

export function AppPage({ params }: PageProps) {
  const id = params['AppId']!;
  const partner = params['PartnerId']; // as the operator sees it
  const here = partner ? path`/partners/${partner}/apps/${id}` : path`/apps/${id}`;
  const current = params['tab'] ?? '';
  const { data, problem, reload, take } = useRead<Loaded>(`app ${id}`, async signal => {
    const { data: app, etag } = await request<App>('GET', path`/api/v1/apps/${id}`, { signal });
    return { app, etag };
  });
  const shown = tabs.filter(tab => tab.name !== 'keys' || (may('keys:write') && !partner));
  return (
    <div class="page">
      <PageHead
        title={data?.app.Name || id}
        id={id}
        crumb={
          partner
            ? { href: path`/partners/${partner}`, title: partner }
            : { href: '/apps', title: 'Apps' }
        }
      >
        {data && !data.app.Enabled && <Badge tone="warn">off</Badge>}
      </PageHead>
      <Tabs
        label="Settings of the app"
        items={shown.map(tab => ({
          href: tab.name ? `${here}/${tab.name}` : here,
          title: tab.title,
          current: tab.name === current,
        }))}
      />
      <ProblemNotice problem={problem} retry={reload} />
      {!data && !problem && <Loading />}
      {data && (
        <Tab key={current} name={current} here={here} app={data.app} etag={data.etag} take={take} />
      )}
    </div>
  );
}
