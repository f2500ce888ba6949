// Which address shows which page. To add one: a folder under pages/, and a line here.
import type { ComponentType } from 'preact';
import type { Scope } from '../lib/types';
import type { IconName } from '../ui/icons';
import { AccountPage } from '../pages/account/account';
import { AlertsPage } from '../pages/alerts/alerts';
import { AppPage } from '../pages/apps/app';
import { AppsPage } from '../pages/apps/apps';
import { AuditPage } from '../pages/audit/audit';
import { AllCallbacksPage } from '../pages/callbacks/all';
import { CallbackPage } from '../pages/callbacks/callback';
import { CallbacksPage } from '../pages/callbacks/callbacks';
import { ConsolePage } from '../pages/console/console';
import { EarningsPage } from '../pages/earnings/earnings';
import { ErasePage } from '../pages/erase/erase';
import { KeysPage } from '../pages/keys/keys';
import { OverviewPage } from '../pages/overview/overview';
import { PartnerPage } from '../pages/partners/partner';
import { PartnersPage } from '../pages/partners/partners';
import { PeoplePage } from '../pages/people/people';
import { ReportsPage } from '../pages/reports/reports';
import { RewardsPage } from '../pages/rewards/rewards';
import { StatementPage } from '../pages/statements/statement';
import { StatementsPage } from '../pages/statements/statements';
import { SystemPage } from '../pages/system/system';
import { lazy } from './lazy';

export interface PageProps {
  params: Record<string, string>;
}

export interface Page {
  path: string;
  side: 'partner' | 'operator' | 'both';
  /** Without it the page is neither shown nor named. */
  scope?: Scope;
  component: ComponentType<PageProps>;
  nav?: { group: string; title: string; icon: IconName };
}

const DocsPage = lazy(() => import('../pages/docs/docs'));

export const pages: Page[] = [
  {
    path: '/',
    side: 'partner',
    component: OverviewPage,
    nav: { group: '', title: 'Overview', icon: 'overview' },
  },
  {
    path: '/reports',
    side: 'partner',
    scope: 'reports:read',
    component: ReportsPage,
    nav: { group: '', title: 'Reports', icon: 'reports' },
  },
  {
    path: '/statements',
    side: 'partner',
    scope: 'reports:read',
    component: StatementsPage,
    nav: { group: '', title: 'Statements', icon: 'statements' },
  },
  {
    path: '/statements/{Month}',
    side: 'partner',
    scope: 'reports:read',
    component: StatementPage,
  },
  {
    path: '/callbacks',
    side: 'partner',
    scope: 'callbacks:read',
    component: CallbacksPage,
    nav: { group: '', title: 'Callbacks', icon: 'callbacks' },
  },
  {
    path: '/callbacks/{RewardId}',
    side: 'partner',
    scope: 'callbacks:read',
    component: CallbackPage,
  },
  {
    path: '/apps',
    side: 'partner',
    scope: 'apps:read',
    component: AppsPage,
    nav: { group: '', title: 'Apps', icon: 'apps' },
  },
  { path: '/apps/{AppId}', side: 'partner', scope: 'apps:read', component: AppPage },
  { path: '/apps/{AppId}/{tab}', side: 'partner', scope: 'apps:read', component: AppPage },
  {
    path: '/console',
    side: 'partner',
    scope: 'callbacks:write',
    component: ConsolePage,
    nav: { group: 'Developers', title: 'Test console', icon: 'console' },
  },
  {
    path: '/keys',
    side: 'partner',
    scope: 'keys:write',
    component: KeysPage,
    nav: { group: 'Developers', title: 'API keys', icon: 'keys' },
  },
  {
    path: '/docs',
    side: 'partner',
    component: DocsPage,
    nav: { group: 'Developers', title: 'Docs', icon: 'docs' },
  },
  { path: '/docs/{page}', side: 'partner', component: DocsPage },
  {
    path: '/alerts',
    side: 'partner',
    scope: 'apps:read',
    component: AlertsPage,
    nav: { group: 'Developers', title: 'Alerts', icon: 'warn' },
  },
  {
    path: '/erase',
    side: 'partner',
    scope: 'panelists:erase',
    component: ErasePage,
    nav: { group: 'Account', title: 'Erase a panelist', icon: 'erase' },
  },
  {
    path: '/',
    side: 'operator',
    scope: 'admin',
    component: SystemPage,
    nav: { group: '', title: 'System', icon: 'system' },
  },
  { path: '/', side: 'operator', component: PartnersPage },
  {
    path: '/partners',
    side: 'operator',
    scope: 'apps:read',
    component: PartnersPage,
    nav: { group: '', title: 'Partners', icon: 'partners' },
  },
  { path: '/partners/{PartnerId}', side: 'operator', scope: 'apps:read', component: PartnerPage },
  {
    path: '/partners/{PartnerId}/{tab}',
    side: 'operator',
    scope: 'apps:read',
    component: PartnerPage,
  },
  {
    path: '/partners/{PartnerId}/apps/{AppId}',
    side: 'operator',
    scope: 'apps:read',
    component: AppPage,
  },
  {
    path: '/partners/{PartnerId}/apps/{AppId}/{tab}',
    side: 'operator',
    scope: 'apps:read',
    component: AppPage,
  },
  {
    path: '/callbacks',
    side: 'operator',
    scope: 'callbacks:read',
    component: AllCallbacksPage,
    nav: { group: '', title: 'Callbacks', icon: 'callbacks' },
  },
  {
    path: '/earnings',
    side: 'operator',
    scope: 'reports:read',
    component: EarningsPage,
    nav: { group: '', title: 'Earnings', icon: 'reports' },
  },
  {
    path: '/rewards',
    side: 'operator',
    scope: 'events:write',
    component: RewardsPage,
    nav: { group: '', title: 'Manual rewards', icon: 'reward' },
  },
  {
    path: '/people',
    side: 'both',
    scope: 'people:write',
    component: PeoplePage,
    nav: { group: 'Account', title: 'People', icon: 'people' },
  },
  {
    path: '/audit',
    side: 'both',
    scope: 'audit:read',
    component: AuditPage,
    nav: { group: 'Account', title: 'Audit log', icon: 'audit' },
  },
  {
    path: '/account',
    side: 'both',
    component: AccountPage,
    nav: { group: 'Account', title: 'My account', icon: 'account' },
  },
];
