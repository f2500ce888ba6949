// Every page there is, for the tests that look at all of them and for the pictures.

export interface Shown {
  name: string;
  path: string;
  role: string;
  partner?: string;
}

const sunny = (name: string, path: string, role = 'owner'): Shown => ({
  name,
  path,
  role,
  partner: 'sunny-games',
});

const operator = (name: string, path: string, role = 'admin'): Shown => ({ name, path, role });

export const everyPage: Shown[] = [
  sunny('overview', '/'),
  sunny('reports', '/reports'),
  sunny('reports-arpdau', '/reports?report=arpdau'),
  sunny('statements', '/statements'),
  sunny('statement', `/statements/${new Date().toISOString().slice(0, 7)}`),
  sunny('callbacks', '/callbacks'),
  sunny('callback', '/callbacks/picture-1'),
  sunny('apps', '/apps'),
  sunny('app-general', '/apps/farm-friends'),
  sunny('app-postback', '/apps/quiz-night/postback'),
  sunny('app-callback', '/apps/farm-friends/callback'),
  sunny('app-clients', '/apps/farm-friends/clients'),
  sunny('app-keys', '/apps/farm-friends/keys'),
  sunny('console', '/console?app=farm-friends'),
  sunny('verify', '/console?app=farm-friends&do=verify'),
  sunny('keys', '/keys'),
  sunny('alerts', '/alerts'),
  sunny('erase', '/erase'),
  sunny('docs', '/docs'),
  sunny('docs-page', '/docs/callbacks'),
  sunny('docs-search', '/docs?q=suspended'),
  sunny('docs-verify', '/docs/verify'),
  sunny('people', '/people'),
  sunny('account', '/account'),
  sunny('audit', '/audit'),
  operator('system', '/'),
  operator('partners', '/partners'),
  operator('partner', '/partners/sunny-games'),
  operator('partner-callbacks', '/partners/sunny-games/callbacks', 'support'),
  operator('partner-deliveries', '/partners/sunny-games/deliveries'),
  operator('partner-people', '/partners/sunny-games/people'),
  operator('partner-keys', '/partners/sunny-games/keys'),
  operator('partner-settings', '/partners/sunny-games/settings'),
  operator('partner-app', '/partners/sunny-games/apps/quiz-night/postback'),
  operator('all-callbacks', '/callbacks', 'support'),
  operator('earnings', '/earnings'),
  operator('rewards', '/rewards?partner=sunny-games'),
  operator('reversal', '/rewards?do=reversal&partner=sunny-games'),
  operator('operator-people', '/people'),
  operator('operator-audit', '/audit'),
  operator('support-partners', '/', 'support'),
];
