import { beforeAll, afterAll, describe, expect, it, jest } from '@jest/globals';
import { AccessTokensService } from '../../src/auth/access-tokens/access-tokens.service.js';
import { type KeySet, keySetOf } from '../../src/auth/issuers/key-set.js';
import { Configuration } from '../../src/configuration/configuration.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import { AUDIENCE, Issuer } from '../support/issuer.js';

let issuer: Issuer;
let checked = 0;
let service: AccessTokensService;
beforeAll(async () => {
  issuer = await Issuer.start();
  const keys = await keySetOf({ keys: issuer.published });
  const counting: KeySet = {
    ...keys,
    resolve: Object.assign((...of: Parameters<KeySet['resolve']>) => {
      checked++;
      return keys.resolve(...of);
    }, keys.resolve),
  };
  const configuration = Object.assign(new Configuration(), {
    OAUTH_ISSUER: [issuer.url],
    OAUTH_AUDIENCE: AUDIENCE,
  });
  const source = { keys: counting, lookFor: () => Promise.resolve(true) };
  const issuers = { get: (name: unknown) => (name === issuer.url ? source : undefined) };
  service = new AccessTokensService(configuration, issuers, new Metrics());
});
afterAll(() => issuer.close());

describe('a new access token', () => {
  it('that comes in many requests at once is verified once', async () => {
    const authorization = `Bearer ${await issuer.token()}`;
    const verdicts = await Promise.all(
      Array.from({ length: 5_000 }, async (_, at) => service.verify(authorization, `caller ${at}`)),
    );
    expect(new Set(verdicts.map(({ kind }) => kind))).toEqual(new Set(['valid']));
    expect(checked).toBe(1);
  });

  it('that is forged is verified once as well, and again when it comes later', async () => {
    const [head, claims] = (await issuer.token()).split('.');
    const authorization = `${head}.${claims}.AAAA`;
    const before = checked;
    for (let round = 1; round <= 2; round++) {
      const verdicts = await Promise.all(
        Array.from({ length: 100 }, async () => service.verify(authorization, 'caller')),
      );
      expect(new Set(verdicts.map(({ kind }) => kind))).toEqual(new Set(['refused']));
      expect(checked - before).toBe(round);
    }
  });

  it('waits among 2,000 others at most', async () => {
    const tokens = await Promise.all(Array.from({ length: 2_100 }, () => issuer.token()));
    const verdicts = await Promise.all(
      tokens.map(async (token) => service.verify(token, 'caller')),
    );
    const kinds = verdicts.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'undecided')).toHaveLength(98); // two are verified at a time
    expect(kinds.filter((kind) => kind === 'valid')).toHaveLength(2_002);
  });
});

describe('a token beside a wrong API key', () => {
  it('is judged the same whether it is known or not, also with a changed signature, and after it expired', async () => {
    const [known, unknown] = await Promise.all([issuer.token(), issuer.token()]);
    expect(await service.verify(known, 'caller')).toMatchObject({ kind: 'valid' });
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
