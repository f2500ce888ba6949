// Verifies a postbackd callback. Node.js 18 or newer, no packages.
//
//   CALLBACK_SECRET=... WEBHOOK_ID=... WEBHOOK_TIMESTAMP=... WEBHOOK_SIGNATURE=... \
//     node node.mjs < body.json
//
// Or import it: check() over the raw bytes of the body (express.raw, not express.json: a body that
// was parsed and written again is not the one that was signed), or expressHandler().
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const TOLERANCE_S = 300;

function equal(a, b) {
  const x = Buffer.from(a), y = Buffer.from(b);
  return x.length === y.length && timingSafeEqual(x, y);
}

// Returns '' when Sig is right, else why not.
export function checkSig(body, secret) {
  let fields;
  try {
    fields = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return 'the body is not JSON';
  }
  const { PanelistId, RewardId, Sig } = fields ?? {};
  if (![PanelistId, RewardId, Sig].every((field) => typeof field === 'string')) {
    return 'PanelistId, RewardId or Sig is missing';
  }
  const want = createHash('md5').update(PanelistId + RewardId + secret, 'utf8').digest('hex');
  return equal(Sig, want) ? '' : 'another secret, or altered ids';
}

// Returns '' when one of the signatures in the header is right and fresh, else why not.
export function checkWebhook(body, { id, timestamp, signatures }, secret, now) {
  if (!id || !timestamp || !signatures) return 'a webhook- header is missing';
  if (!/^\d{1,12}$/.test(timestamp)) return 'webhook-timestamp is not a number';
  if (Math.abs(now - Number(timestamp)) > TOLERANCE_S) return 'webhook-timestamp is too old or new';
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret;
  const mac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
  const good = signatures.split(' ').filter((signature) => equal(signature, `v1,${mac}`));
  return good.length > 0 ? '' : 'another secret, or an altered id, time or body';
}

// Returns '' when both are right, else why not. `headers` by lower-case name, as Node.js has them.
export function check(body, headers, secret, now = Math.floor(Date.now() / 1000)) {
  const webhook = {
    id: headers['webhook-id'],
    timestamp: headers['webhook-timestamp'],
    signatures: headers['webhook-signature'],
  };
  return checkWebhook(body, webhook, secret, now) || checkSig(body, secret);
}

// For Express: credit(callback) books one reward, once per RewardId; what it throws is answered
// with 500, and the callback is sent again. It is not called for tests. Amounts are floats: round
// them.
//
//   app.post('/callback', express.raw({ type: '*/*' }), expressHandler(secret, credit));
export function expressHandler(secret, credit) {
  return async (request, response, next) => {
    try {
      const why = check(request.body, request.headers, secret);
      if (why) return response.status(400).send(why);
      const callback = JSON.parse(request.body);
      if (!callback.IsTest) await credit(callback);
      response.send('ok');
    } catch (error) {
      next(error);
    }
  };
}

function main() {
  const body = readFileSync(0);
  const secret = process.env.CALLBACK_SECRET ?? '';
  const headers = {
    id: process.env.WEBHOOK_ID,
    timestamp: process.env.WEBHOOK_TIMESTAMP,
    signatures: process.env.WEBHOOK_SIGNATURE,
  };
  const now = Number(process.env.NOW ?? Math.floor(Date.now() / 1000));
  const results = {
    Sig: checkSig(body, secret),
    'webhook-signature': checkWebhook(body, headers, secret, now),
  };
  for (const [name, why] of Object.entries(results)) {
    console.log(why ? `${name} wrong: ${why}` : `${name} ok`);
  }
  process.exitCode = Object.values(results).some(Boolean) ? 1 : 0;
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) main();
