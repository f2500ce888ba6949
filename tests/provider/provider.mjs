// An identity provider for tests (npm's oidc-provider): prints its issuer, then takes its settings by
// POST /control: {redirectUri, people: {NAME: claims}, algorithm, rotate, login}. Who signs in is the
// `login` of the interaction's query, or without one that of /control: there is no password.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import http from 'node:http';
import { Provider } from 'oidc-provider';

const KINDS = { RS256: ['rsa', { modulusLength: 2048 }], ES256: ['ec', { namedCurve: 'P-256' }] };
const SECRET = 'the secret of the tests, with a + and a %';
let issuer, provider, key, people, algorithm, present;

function makeKey() {
  const { privateKey } = generateKeyPairSync(...KINDS[algorithm]);
  return { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), alg: algorithm, use: 'sig' };
}

function makeProvider(redirectUri) {
  return new Provider(issuer, {
    clients: [
      {
        client_id: 'postbackd',
        client_secret: SECRET,
        redirect_uris: [redirectUri],
        id_token_signed_response_alg: algorithm,
      },
    ],
    jwks: { keys: [key] },
    cookies: { keys: ['cookies'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
    conformIdTokenClaims: false,
    enabledJWA: { idTokenSigningAlgValues: Object.keys(KINDS) },
    features: { devInteractions: { enabled: false } },
    pkce: { required: () => true },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
    async loadExistingGrant(ctx) {
      const grant = new ctx.oidc.provider.Grant({
        clientId: ctx.oidc.client.clientId,
        accountId: ctx.oidc.session.accountId,
      });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
  });
}

async function control(request, response) {
  let body = '';
  for await (const piece of request) body += piece;
  const wish = JSON.parse(body);
  people = wish.people;
  present = wish.login;
  if (!key || wish.rotate || wish.algorithm !== algorithm) {
    algorithm = wish.algorithm;
    key = makeKey();
  }
  provider = makeProvider(wish.redirectUri);
  response.end();
}

const server = http.createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, issuer);
  if (pathname === '/control') await control(request, response);
  else if (pathname.startsWith('/interaction/'))
    await provider.interactionFinished(request, response, {
      login: { accountId: searchParams.get('login') ?? present },
    });
  else provider.callback()(request, response);
});
server.listen(0, '127.0.0.1', () => {
  issuer = `http://127.0.0.1:${server.address().port}`;
  console.log(JSON.stringify({ Issuer: issuer, ClientId: 'postbackd', Secret: SECRET }));
});
