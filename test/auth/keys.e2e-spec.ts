import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, it, jest } from '@jest/globals';
import { generateApiKey } from '../../src/auth/api-keys/api-key.js';
import type { RefusalReason } from '../../src/auth/verdict.js';
import { REFRESH_INTERVAL_MS } from '../../src/auth/issuers/key-set.js';
import { encodePart } from '../support/issuer.js';
import { issueKey } from '../support/api-keys.js';
import { localWorld } from '../support/local-world.js';
import { useMovableClock } from '../support/monotonic-clock.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { expectProblem } from '../support/problem.js';
import { Proxy } from '../support/proxy.js';
import { Reader, requestTo } from '../support/reader.js';
import { until } from '../support/until.js';

type Headers = Record<string, string | undefined>;
const REALM = 'realm="order-lookup-services"';
const CHALLENGES = `ApiKey ${REALM}, header="Api-Key", Bearer ${REALM}`;
const PATH: string = PATHS.orderUpdate;
const REVOKED_KEY = generateApiKey();
const EXPIRED_KEY = generateApiKey();
const KEY_OF_ANOTHER_SYSTEM = 'a key of another system';
const HAND_MADE_KEY = 'ols_a key that somebody made by hand';

const secondsFromNow = (seconds: number): string => new Date(Date.now() + seconds * 1000).toISOString();
useMovableClock(); // for the last test. The fake clock begins at zero, so call this before the first service starts
const world = localWorld({
  prepare: async (database) => {
    // Some companies set this for roles that only read. The service must still store the last use of a key
    await database.query(`do $$ begin execute format(
      'alter role order_lookup_service in database %I set default_transaction_read_only = on', current_database()); end $$`);
    await issueKey(database, { key: REVOKED_KEY, revokedAt: secondsFromNow(-1) });
    await issueKey(database, { key: EXPIRED_KEY, expiresAt: secondsFromNow(-3_600) });
    await issueKey(database, { key: HAND_MADE_KEY });
    await issueKey(database, { key: KEY_OF_ANOTHER_SYSTEM, expiresAt: secondsFromNow(86_400) });
  },
});

let requestCount = 0;
/** Sends a request to the next operation. Its credentials are valid, unless one of these headers replaces them. */
const ask = (headers: Headers) => world.get(ALL_PATHS[requestCount++ % ALL_PATHS.length] as string, { headers });
const statusOf = async (headers: Headers): Promise<number> => (await ask(headers)).status;

function withOtherLastCharacter(key: string): string {
  return key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a');
}

describe('an API key', () => {
  it.each<{ name: string; reason: RefusalReason; sent: (key: string) => string }>([
    { name: 'unknown', reason: 'unknown', sent: () => generateApiKey() },
    { name: 'revoked', reason: 'revoked', sent: () => REVOKED_KEY },
    { name: 'expired', reason: 'expired', sent: () => EXPIRED_KEY },
    { name: 'with its last character changed', reason: 'malformed', sent: withOtherLastCharacter },
    { name: 'cut short', reason: 'malformed', sent: (key) => key.slice(0, -1) },
    { name: 'in capitals', reason: 'unknown', sent: (key) => key.toUpperCase() },
    { name: 'of 5,000 characters', reason: 'unknown', sent: () => 'x'.repeat(5_000) },
    { name: 'that is SQL', reason: 'unknown', sent: () => `' or 1=1 --` },
    { name: 'that is not ASCII', reason: 'unknown', sent: () => 'schlüssel' },
    { name: '__proto__', reason: 'unknown', sent: () => '__proto__' },
  ])('gets the same 401 for each fault: $name', async ({ reason, sent }) => {
    const reply = await ask({ 'Api-Key': sent(world.key.key) });
    expect(expectProblem(reply, 'invalid-credentials')).toMatchObject({
      detail: 'The credentials of the request are not valid.',
      issues: [{ description: 'Api-Key is not valid.', field: 'Api-Key', location: 'header' }],
    });
    expect(reply.headers.get('www-authenticate')).toBe(CHALLENGES);
    const requestId = reply.headers.get('x-request-id');
    const line = await world.service.waitForLog((each) => each['requestId'] === requestId);
    expect(line).toMatchObject({ credential: 'api_key', reason });
  });

  it.each(['Api_Key', 'X-Api-Key', 'ApiKey', 'Cookie'])('is not read from %s or from the query', async (name) => {
    const headers = { 'Api-Key': undefined, [name]: world.key.key };
    const reply = await world.get(`${PATH}?Api-Key=${world.key.key}`, { headers });
    const description = 'Api-Key is missing: send your API key.';
    expect(expectProblem(reply, 'missing-credentials').issues).toEqual([
      { description, field: 'Api-Key', location: 'header' },
    ]);
  });

  it.each(['API-KEY', 'aPi-KeY'])('is accepted if the name of its header is written as %s', async (name) => {
    expect(await statusOf({ 'Api-Key': undefined, [name]: world.key.key })).toBe(200);
  });

  it.each([KEY_OF_ANOTHER_SYSTEM, HAND_MADE_KEY])('is accepted also if we did not generate it: "%s"', async (key) => {
    expect(await statusOf({ 'Api-Key': key })).toBe(200);
  });

  it('has its last use stored at most once a minute, which changes neither revision nor history', async () => {
    const readRevisionAndHistory = () =>
      world.database.query(
        'select (select count(*) from history) as history, (select array_agg(r) from revision r) as revision',
      );
    const { id, key } = await issueKey(world.database);
    await until(async () => (await statusOf({ 'Api-Key': key })) === 200);
    const before = await readRevisionAndHistory();
    const readUses = () =>
      world.database.query<{ at: Date }>('select last_used_at as at from api_key_use where key_id = $1', [id]);
    const findFailures = () =>
      world.service.lines.filter(({ msg }) => msg.startsWith('noting the use of API keys: failed'));
    await until(async () => (await readUses()).length > 0 || findFailures().length > 0);
    expect(findFailures()).toEqual([]);
    const [firstUse] = await readUses();
    await world.database.query('select note_key_use(array(select key_id from api_key_use))');
    expect(await readUses()).toEqual([firstUse]);
    expect(await readRevisionAndHistory()).toEqual(before);
  });
});

describe('both credentials', () => {
  it.each<{ headers: Headers; missing: string[] }>([
    { headers: { Authorization: undefined }, missing: ['Authorization'] },
    { headers: { 'Api-Key': undefined }, missing: ['Api-Key'] },
    { headers: { 'Api-Key': '' }, missing: ['Api-Key'] },
    { headers: { 'Api-Key': '   ' }, missing: ['Api-Key'] },
    { headers: { Authorization: '' }, missing: ['Authorization'] },
    { headers: { Authorization: 'Bearer' }, missing: ['Authorization'] },
    { headers: { Authorization: 'bearer ' }, missing: ['Authorization'] },
  ])('are needed, so a request with $headers gets 401', async ({ headers, missing }) => {
    const reply = await ask(headers);
    const { issues } = expectProblem(reply, 'missing-credentials');
    expect(issues?.map(({ field, location }) => [field, location])).toEqual(missing.map((field) => [field, 'header']));
    expect(reply.headers.get('www-authenticate')).toBe(CHALLENGES);
  });

  it('are both named by one 401 if the key is wrong and the token is missing', async () => {
    const { issues } = expectProblem(
      await ask({ 'Api-Key': 'wrong', Authorization: undefined }),
      'invalid-credentials',
    );
    expect(issues?.map(({ description }) => description)).toEqual([
      'Api-Key is not valid.',
      'Authorization is missing: send Bearer and an access token.',
    ]);
  });

  it('may have spaces and tabs around them, but no other white space', async () => {
    const { token } = world;
    const { key } = world.key;
    for (const space of [' ', '\t', ' \t ']) {
      const headers = `Api-Key:${space}${key}${space}\r\nAuthorization:${space}Bearer ${token}${space}\r\n`;
      expect(await rawStatus(headers)).toBe(200);
    }
    const verticalTab = '\u000b';
    for (const space of ['\u00a0', '\u0085', verticalTab]) {
      const expected = space === verticalTab ? 400 : 401; // a control character makes the header malformed
      for (const [sentKey, authorization] of [
        [key, `Bearer ${token}${space}`],
        [key, `${space}Bearer ${token}`],
        [`${key}${space}`, token],
        [space, token],
      ])
        expect(await rawStatus(`Api-Key: ${sentKey}\r\nAuthorization: ${authorization}\r\n`)).toBe(expected);
    }
  });

  /** Sends exactly these header lines, one byte for each character. Returns the status of the answer. */
  async function rawStatus(headers: string): Promise<number> {
    const reader = await Reader.to(world.service.url);
    const { status } = await reader.ask(Buffer.from(`GET ${PATH} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`, 'latin1'));
    reader.close();
    return status;
  }
});

describe('the token of a request without a valid API key', () => {
  /** Returns an Authorization header. Its token has the claims of a valid token, this key id and a random signature. */
  function forgeAuthorization(kid: string): string {
    const [, claims] = world.token.split('.');
    const signature = randomBytes(256).toString('base64url');
    return `Bearer ${encodePart({ alg: 'RS256', kid })}.${claims}.${signature}`;
  }

  it.each<{ name: string; authorization: () => string | Promise<string> }>([
    { name: 'whose signature is wrong', authorization: () => forgeAuthorization('rsa-1') },
    { name: 'whose key id is unknown', authorization: () => forgeAuthorization('unknown') },
    { name: 'that has expired', authorization: () => world.issuer.createToken({ claims: { exp: 1 } }) },
    { name: 'that is no token', authorization: () => 'Bearer a.b' },
    { name: 'of another scheme', authorization: () => 'Basic dXNlcjpwYXNz' },
    { name: 'that is valid', authorization: () => world.token },
  ])('is not checked, so the 401 names only the API key: a token $name', async ({ authorization }) => {
    for (const [slug, key] of [
      ['missing-credentials', undefined],
      ['invalid-credentials', 'wrong'],
    ] as const) {
      const reply = await ask({ 'Api-Key': key, Authorization: await authorization() });
      expect(expectProblem(reply, slug).issues?.map(({ field }) => field)).toEqual(['Api-Key']);
      expect(reply.headers.get('www-authenticate')).toBe(CHALLENGES);
    }
  });

  it('causes no signature check and no fetch of keys, and a flood of such requests disturbs no caller', async () => {
    const { issuer, service } = world;
    const countVerified = () => service.readMetric('order_lookup_tokens_verified_total');
    const verifiedBefore = await countVerified();
    const fetchesBefore = issuer.jwksHits;
    const begunAtMs = performance.now();
    const floodEnd = new AbortController();
    let floodCount = 0;
    const statusesOfFlood = new Set<number>();
    const flood = Array.from({ length: 8 }, async () => {
      const reader = await Reader.to(service.url);
      while (!floodEnd.signal.aborted) {
        floodCount += 1;
        const hasUnknownKey = floodCount % 2 === 0; // the other requests have no key
        const hasUnknownKeyId = floodCount % 3 === 0;
        const key: Record<string, string> = hasUnknownKey ? { 'Api-Key': generateApiKey() } : {};
        const Authorization = forgeAuthorization(hasUnknownKeyId ? `forged-${floodCount}` : 'rsa-1');
        statusesOfFlood.add((await reader.ask(requestTo(PATH, { ...key, Authorization }))).status);
      }
      reader.close();
    });
    for (let at = 0; at < 20; at++) expect(await statusOf({ Authorization: await issuer.createToken() })).toBe(200);
    await until(async () => floodCount > 200);
    expect((await countVerified()) - verifiedBefore).toBe(20);
    const fetchesByTimer = Math.ceil((performance.now() - begunAtMs) / REFRESH_INTERVAL_MS);
    expect(issuer.jwksHits - fetchesBefore).toBeLessThanOrEqual(fetchesByTimer);
    await issuer.rotate('rotated'); // during the flood, tokens of the new key are accepted after the next fetch
    await until(async () => (await statusOf({ Authorization: await issuer.createToken() })) === 200);
    floodEnd.abort();
    await Promise.all(flood);
    expect([...statusesOfFlood]).toEqual([401]);
  });
});

describe('without the database', () => {
  let proxy: Proxy;
  afterAll(() => proxy?.close());

  it('calls get 200 for API_KEY_MAX_AGE_SECONDS, also if the key was revoked meanwhile, and then 503', async () => {
    const maxAgeSeconds = 600;
    proxy = await Proxy.before(world.database.urlOf('order_lookup_service'));
    const revokedLater = await issueKey(world.database);
    const service = await world.startReadyReplica({
      DATABASE_URL: proxy.url,
      API_KEY_MAX_AGE_SECONDS: String(maxAgeSeconds),
    });
    const askWithRevokedKey = () => world.get(PATH, { service, headers: { 'Api-Key': revokedLater.key } });

    proxy.mode = 'refuse';
    proxy.cut();
    const warning = await service.waitForLog(({ msg }) => msg === 'database (keys): failed, retrying');
    const untilRefusalMs = Date.parse(String(warning['callersRefusedAt'])) - Date.parse(warning.time);
    expect(untilRefusalMs).toBeLessThanOrEqual(maxAgeSeconds * 1_000);
    await world.database.query('update api_key set revoked_at = now() where id = $1', [revokedLater.id]);
    expect((await askWithRevokedKey()).status).toBe(200); // the service cannot know that the key was revoked

    jest.advanceTimersByTime(maxAgeSeconds * 1_000);
    const reply = await world.get(PATH, { service });
    expectProblem(reply, 'cannot-verify-credentials');
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
    const { status, text } = await service.fetchReadiness();
    expect(status).toBe(503);
    // The detail names only the API keys, because codes never become too old
    expect(JSON.parse(text)).toMatchObject({ detail: 'The list of API keys is too old.' });
    const refusal = await service.waitForLog(({ msg }) => msg.endsWith('callers are refused'));
    expect(Date.parse(String(refusal['callersRefusedAt']))).toBeLessThan(Date.parse(refusal.time));

    proxy.mode = 'pass';
    await until(async () => (await world.get(PATH, { service })).status === 200);
    expect((await askWithRevokedKey()).status).toBe(401);
  });
});
