// Which address shows which page. To add one: a folder under pages/, a line here, and one in
// pages/others.ts.
import type { ComponentType } from 'preact';
import type { Scope } from '../lib/types';
import type { IconName } from '../ui/icons';
import { OverviewPage } from '../pages/overview/overview';
import { lazy } from './lazy';
import { other } from './others';

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

const DocsPage = lazy(async () => (await import('../pages/docs/docs')).default);

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
    component: other('ReportsPage'),
    nav: { group: '', title: 'Reports', icon: 'reports' },
  },
  {
    path: '/statements',
    side: 'partner',
    scope: 'reports:read',
    component: other('StatementsPage'),
    nav: { group: '', title: 'Statements', icon: 'statements' },
  },
  {
    path: '/statements/{Month}',
    side: 'partner',
    scope: 'reports:read',
    component: other('StatementPage'),
  },
  {
    path: '/callbacks',
    side: 'partner',
    scope: 'callbacks:read',
    component: other('CallbacksPage'),
    nav: { group: '', title: 'Callbacks', icon: 'callbacks' },
  },
  {
    path: '/callbacks/{RewardId}',
    side: 'partner',
    scope: 'callbacks:read',
    component: other('CallbackPage'),
  },
  {
    path: '/apps',
    side: 'partner',
    scope: 'apps:read',
    component: other('AppsPage'),
    nav: { group: '', title: 'Apps', icon: 'apps' },
  },
  { path: '/apps/{AppId}', side: 'partner', scope: 'apps:read', component: other('AppPage') },
  { path: '/apps/{AppId}/{tab}', side: 'partner', scope: 'apps:read', component: other('AppPage') },
  {
    path: '/console',
    side: 'partner',
    scope: 'callbacks:write',
    component: other('ConsolePage'),
    nav: { group: 'Developers', title: 'Test console', icon: 'console' },
  },
  {
    path: '/keys',
    side: 'partner',
    scope: 'keys:write',
    component: other('KeysPage'),
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
    component: other('AlertsPage'),
    nav: { group: 'Developers', title: 'Alerts', icon: 'warn' },
  },
  {
    path: '/erase',
    side: 'partner',
    scope: 'panelists:erase',
    component: other('ErasePage'),
    nav: { group: 'Account', title: 'Erase a panelist', icon: 'erase' },
  },
  {
    path: '/',
    side: 'operator',
    scope: 'admin',
    component: other('SystemPage'),
    nav: { group: '', title: 'System', icon: 'system' },
  },
  { path: '/', side: 'operator', component: other('PartnersPage') },
  {
    path: '/partners',
    side: 'operator',
    scope: 'apps:read',
    component: other('PartnersPage'),
    nav: { group: '', title: 'Partners', icon: 'partners' },
  },
  {
    path: '/partners/{PartnerId}',
    side: 'operator',
    scope: 'apps:read',
    component: other('PartnerPage'),
  },
  {
    path: '/partners/{PartnerId}/{tab}',
    side: 'operator',
    scope: 'apps:read',
    component: other('PartnerPage'),
  },
  {
    path: '/partners/{PartnerId}/apps/{AppId}',
    side: 'operator',
    scope: 'apps:read',
    component: other('AppPage'),
  },
  {
    path: '/partners/{PartnerId}/apps/{AppId}/{tab}',
    side: 'operator',
    scope: 'apps:read',
    component: other('AppPage'),
  },
  {
    path: '/callbacks',
    side: 'operator',
    scope: 'callbacks:read',
    component: other('AllCallbacksPage'),
    nav: { group: '', title: 'Callbacks', icon: 'callbacks' },
  },
  {
    path: '/earnings',
    side: 'operator',
    scope: 'reports:read',
    component: other('EarningsPage'),
    nav: { group: '', title: 'Earnings', icon: 'reports' },
  },
  {
    path: '/rewards',
    side: 'operator',
    scope: 'events:write',
    component: other('RewardsPage'),
    nav: { group: '', title: 'Manual rewards', icon: 'reward' },
  },
  {
    path: '/people',
    side: 'both',
    scope: 'people:write',
    component: other('PeoplePage'),
    nav: { group: 'Account', title: 'People', icon: 'people' },
  },
  {
    path: '/audit',
    side: 'both',
    scope: 'audit:read',
    component: other('AuditPage'),
    nav: { group: 'Account', title: 'Audit log', icon: 'audit' },
  },
  {
    path: '/account',
    side: 'both',
    component: other('AccountPage'),
    nav: { group: 'Account', title: 'My account', icon: 'account' },
  },
];
