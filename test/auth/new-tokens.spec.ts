import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createLocalJWKSet } from 'jose';
import type { KeySource } from '../../src/auth/access-tokens/access-token.js';
import { AccessTokensService } from '../../src/auth/access-tokens/access-tokens.service.js';
import { keySetOf } from '../../src/auth/issuers/key-set.js';
import { Configuration } from '../../src/configuration/configuration.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import { AUDIENCE, Issuer } from '../support/issuer.js';

let issuer: Issuer;
let checked = 0;
let service: AccessTokensService;
beforeAll(async () => {
  issuer = await Issuer.start();
  const keys = await keySetOf({ keys: issuer.published });
  const select = createLocalJWKSet(keys.jwks);
  const source: KeySource = {
    keys,
    has: () => Promise.resolve(false),
    resolve: Object.assign((...of: Parameters<typeof select>) => {
      checked++;
      return select(...of);
    }, select),
  };
  const configuration = Object.assign(new Configuration(), {
    OAUTH_ISSUER: [issuer.url],
    OAUTH_AUDIENCE: AUDIENCE,
  });
  const issuers = { get: (name: unknown) => (name === issuer.url ? source : undefined) };
  service = new AccessTokensService(configuration, issuers, new Metrics());
});
afterAll(() => issuer.close());

describe('new access tokens', () => {
  it('may be thousands at once: all are accepted, and a known token waits for none of them', async () => {
    const known = await issuer.token();
    expect(await service.verify(known)).toMatchObject({ kind: 'valid' });
    const tokens = await Promise.all(Array.from({ length: 5_000 }, () => issuer.token()));
    const verdicts = tokens.map((token) => service.verify(token));
    expect(service.verify(known)).toMatchObject({ kind: 'valid' }); // not a promise
    const kinds = await Promise.all(verdicts.map(async (verdict) => (await verdict).kind));
    expect(new Set(kinds)).toEqual(new Set(['valid']));
  });

  it('that are forged are not remembered', async () => {
    const forged = (await issuer.token()).replace(/[^.]+$/, 'AAAA');
    for (let round = 0; round < 2; round++)
      expect(await service.verify(forged)).toEqual({ kind: 'refused', reason: 'signature' });
  });
});

describe('a token beside a wrong API key', () => {
  it('is judged the same whether it is known or not, also with a changed signature, and after it expired', async () => {
    const [known, unknown] = await Promise.all([issuer.token(), issuer.token()]);
    expect(await service.verify(known)).toMatchObject({ kind: 'valid' });
    const forged = known.replace(/[^.]+$/, 'AAAA');
    const before = checked;
    const judge = (): unknown[] => [known, unknown, forged].map((token) => service.inspect(token));
    expect(judge()).toEqual(Array.from({ length: 3 }, () => ({ kind: 'unverified' })));
    const later = Date.now() + 24 * 60 * 60_000;
    const clock = jest.spyOn(Date, 'now').mockReturnValue(later);
    const expired = judge();
    clock.mockRestore();
    expect(expired).toEqual(
      Array.from({ length: 3 }, () => expect.objectContaining({ reason: 'expired' })),
    );
    expect(checked).toBe(before);
  });
});
