// The key comes first: whoever has no valid API key costs no signature check, no place in a queue and no question to the issuer.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateApiKey } from '../../src/auth/api-keys/api-key.js';
import { PATHS } from '../support/paths.js';
import { expectProblem } from '../support/problem.js';
import { Reader, requestTo } from '../support/reader.js';
import { until } from '../support/service.js';
import { World } from '../support/world.js';

const PATH = PATHS.orderUpdate;
let world: World;
beforeAll(async () => {
  world = await World.create();
});
afterAll(() => world?.close());

const now = (): number => Math.floor(Date.now() / 1000);

/** Sends requests over some connections, one behind the other on each, until `done`; gives their statuses. */
async function flood(headers: (at: number) => Record<string, string>, done: () => boolean) {
  const statuses = new Map<number, number>();
  let at = 0;
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      const reader = await Reader.to(world.service.url);
      while (!done()) {
        const { status } = await reader.ask(requestTo(PATH, headers(at++)));
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
      reader.close();
    }),
  );
  return statuses;
}

/** A token that looks like one of the issuer, with a signature of random bytes. */
async function forgery(): Promise<(kid: string) => string> {
  const [, claims] = (await world.issuer.token()).split('.');
  return (kid) => {
    const header = Buffer.from(JSON.stringify({ alg: 'RS256', kid, typ: 'at+jwt' }));
    return `Bearer ${header.toString('base64url')}.${claims}.${randomBytes(256).toString('base64url')}`;
  };
}

describe('thousands of forged tokens without a key, or with a wrong one', () => {
  const stranger = (at: number): Record<string, string> =>
    at % 2 === 0 ? {} : { 'Api-Key': generateApiKey() };

  it('delay no caller: callers with a valid key and a new token are served, and no signature of a stranger is verified', async () => {
    const forged = await forgery();
    const tokens = await Promise.all(Array.from({ length: 300 }, () => world.issuer.token()));
    const before = await world.service.metric('order_lookup_token_cache_lookups_total');
    let asked = 0;
    let count = 0;
    const good = (async () => {
      const statuses = new Set<number>();
      for (const token of tokens) {
        const headers = { Authorization: `Bearer ${token}` };
        statuses.add((await world.get(PATH, { headers })).status);
        asked++;
      }
      return statuses;
    })();
    const statuses = await flood(
      (at) => {
        count = at;
        return { ...stranger(at), Authorization: forged('rsa-1') };
      },
      () => asked === tokens.length && count > 1_000,
    );
    expect(await good).toEqual(new Set([200]));
    expect([...statuses.keys()]).toEqual([401]);
    expect((await world.service.metric('order_lookup_token_cache_lookups_total')) - before).toBe(
      tokens.length,
    );
    expect(
      await world.service.metric(
        'order_lookup_credentials_refused_total{credential="access_token",reason="signature"}',
      ),
    ).toBe(0);
  });

  it('with unknown key ids never cause a request to the issuer, and a real rotation is found with the first token', async () => {
    const forged = await forgery();
    const hits = world.issuer.jwksHits;
    let rotated = false;
    let count = 0;
    const attack = flood(
      (at) => {
        count = at;
        return { ...stranger(at), Authorization: forged(`forged-${at}`) };
      },
      () => rotated && count > 2_000,
    );
    await until(async () => count > 1_000);
    expect(world.issuer.jwksHits - hits).toBeLessThanOrEqual(1); // the service itself asks once a minute
    await world.issuer.rotate('real');
    const headers = { Authorization: `Bearer ${await world.issuer.token()}` };
    expect((await world.get(PATH, { headers })).status).toBe(200);
    rotated = true;
    expect([...(await attack).keys()]).toEqual([401]);
    expect(world.issuer.jwksHits - hits).toBeLessThanOrEqual(2);
  });
});

describe('a token beside a wrong key', () => {
  it.each<[string, () => Promise<string> | string]>([
    ['of two parts', () => 'Bearer a.b'],
    ['that is no JSON', () => 'Bearer a.b.c'],
    ['under another scheme', () => 'Basic dXNlcjpwYXNz'],
    ['over 8 KiB', () => world.issuer.token({ claims: { padding: 'x'.repeat(8_200) } })],
    ['that has expired', () => world.issuer.token({ claims: { exp: now() - 31 } })],
    ['that is not valid yet', () => world.issuer.token({ claims: { nbf: now() + 60 } })],
    ['of another issuer', () => world.issuer.token({ claims: { iss: 'https://other' } })],
    ['for another audience', () => world.issuer.token({ claims: { aud: 'other' } })],
    ['of another kind', () => world.issuer.token({ claims: { typ: 'ID' } })],
  ])('is named for what can be seen: %s', async (_name, token) => {
    for (const key of [undefined, 'wrong']) {
      const headers = { 'Api-Key': key, Authorization: await token() };
      const { issues } = expectProblem(await world.get(PATH, { headers }), 'invalid-credentials');
      expect(issues?.map(({ field }) => field)).toEqual(['Api-Key', 'Authorization']);
    }
  });

  it.each<[string, () => Promise<string> | string]>([
    ['whose signature is wrong', async () => (await forgery())('rsa-1')],
    ['whose key id is unknown', async () => (await forgery())('unknown')],
    ['that is valid', () => world.issuer.token()],
    ['that is missing a key id', () => world.issuer.token({ header: { kid: undefined } })],
  ])('is not spoken of: %s', async (_name, token) => {
    const replies = [
      ['missing-credentials', undefined],
      ['invalid-credentials', 'wrong'],
    ] as const;
    for (const [slug, key] of replies) {
      const headers = { 'Api-Key': key, Authorization: await token() };
      const reply = await world.get(PATH, { headers });
      expect(expectProblem(reply, slug).issues?.map(({ field }) => field)).toEqual(['Api-Key']);
      expect(reply.headers.get('www-authenticate')).toBe(
        'ApiKey realm="order-lookup-services", header="Api-Key", Bearer realm="order-lookup-services"',
      );
    }
  });
});

describe('white space around a credential', () => {
  it.each([' ', '\t', ' \t '])('may be %j', async (space) => {
    const reader = await Reader.to(world.service.url);
    const { status } = await reader.ask(
      requestTo(PATH, {
        'Api-Key': `${space}${world.key.key}${space}`,
        Authorization: `${space}Bearer ${world.token}${space}`,
      }),
    );
    reader.close();
    expect(status).toBe(200);
  });

  it.each(['\u00a0', '\u0085', '\u000b'])('may not be %j', async (space) => {
    for (const [name, value] of [
      ['Authorization', `Bearer ${world.token}${space}`],
      ['Authorization', `${space}Bearer ${world.token}`],
      ['Authorization', `${world.token}${space}`],
      ['Api-Key', `${world.key.key}${space}`],
      ['Api-Key', space],
    ] as const) {
      const reader = await Reader.to(world.service.url);
      const headers = { 'Api-Key': world.key.key, Authorization: `Bearer ${world.token}` };
      const request = requestTo(PATH, { ...headers, [name]: value });
      const { status } = await reader.ask(Buffer.from(request, 'latin1'));
      reader.close();
      expect(status).toBe(space === '\u000b' ? 400 : 401); // a control character is no field value at all
    }
  });
});
