// Hours of an issuer's life, with the service's clock turned by the test: real HTTP, but nobody waits.
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Issuer as FollowedIssuer } from '../../src/auth/issuers/issuer.js';
import { createLog } from '../../src/telemetry/log.js';
import { Issuer } from '../support/issuer.js';

let issuer: Issuer;
let followed: FollowedIssuer;
beforeEach(async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date'] });
  issuer = await Issuer.start();
  const settings = { OAUTH_JWKS_URI: '', OAUTH_ALLOW_HTTP: false };
  const log = createLog('silent');
  followed = new FollowedIssuer(issuer.url, settings, log);
  followed.start();
  await followed['refreshing'];
});
afterEach(async () => {
  followed.stop();
  await issuer.close();
  jest.useRealTimers();
});

/** Lets seconds pass; gives those in which the keys were asked for, one entry for each time. */
async function pass(
  seconds: number,
  eachSecond = async (_second: number): Promise<unknown> => undefined,
): Promise<number[]> {
  const asked: number[] = [];
  for (let second = 1; second <= seconds; second++) {
    const before = issuer.jwksHits;
    jest.advanceTimersByTime(1_000);
    await eachSecond(second);
    await followed['refreshing'];
    for (let hit = before; hit < issuer.jwksHits; hit++) asked.push(second);
  }
  return asked;
}

describe('the keys of the issuer', () => {
  it('are asked for once a minute, and their address is read again before ten minutes have passed', async () => {
    expect(await pass(600)).toEqual([60, 120, 180, 240, 300, 360, 420, 480, 540, 600]);
    expect(issuer.hits.get('/.well-known/openid-configuration')).toBe(2);
  });

  it('stay valid during an outage of 30 minutes, with growing pauses between fetches, and are fetched within a minute after it', async () => {
    issuer.fault = 'down';
    const asked = await pass(1_800, async () => expect(followed.keys?.kids).toContain('rsa-1'));
    expect(asked.slice(0, 8)).toEqual([60, 61, 63, 67, 75, 91, 123, 183]);
    expect(asked).toHaveLength(8 + 26);
    issuer.fault = 'none';
    await issuer.rotate('new');
    await pass(60);
    expect(followed.keys?.kids).toContain('new');
  });

  it('are kept for a day and no longer', async () => {
    issuer.fault = 'status 500';
    jest.advanceTimersByTime(24 * 3_600_000 - 1_000);
    await followed['refreshing'];
    expect(followed.secondsLeft).toBeCloseTo(1);
    expect(followed.keys).toBeDefined();
    jest.advanceTimersByTime(2_000);
    expect(followed.secondsLeft).toBe(0);
    expect(followed.keys).toBeUndefined();
  });
});

describe('an unknown key id', () => {
  it('is settled by a fetch that began after it was first seen, and by no other; one in 30 s, whoever asks', async () => {
    const forge = (second: number): Promise<unknown> =>
      Promise.all(Array.from({ length: 20 }, (_, at) => followed.has(`forged-${second}-${at}`)));
    expect(await followed.has('first')).toBe(false);
    expect(await followed.has('second')).toBeUndefined();
    await pass(60);
    expect(await followed.has('second')).toBe(false);
    const asked = await pass(600, forge);
    for (const second of asked)
      expect(asked.filter((at) => at >= second && at < second + 60).length).toBeLessThanOrEqual(3);
  });

  it('is found at once after a rotation, also beside a hundred requests with the withdrawn one', async () => {
    for (let rotation = 1; rotation <= 5; rotation++) {
      const [former] = issuer.keys;
      const { kid } = await issuer.rotate(`k${rotation}`, { keepOld: false });
      const old = Array.from({ length: 100 }, () => followed.has(former?.kid ?? ''));
      expect(await followed.has(kid)).toBe(true);
      await Promise.all(old);
      expect(await followed.has(former?.kid ?? '')).toBe(false);
      await pass(31);
    }
  });

  it('that was withdrawn is refused without another fetch, also while there can be none', async () => {
    await issuer.rotate('new', { keepOld: false });
    await pass(60);
    issuer.fault = 'down';
    expect(await followed.has('rsa-1')).toBe(false);
    expect(await followed.has('__proto__')).toBeUndefined();
  });

  it('waits less than a second while the issuer hangs', async () => {
    issuer.fault = 'slow';
    const begun = process.hrtime.bigint();
    expect(await followed.has('new')).toBeUndefined();
    expect(process.hrtime.bigint() - begun).toBeLessThan(1_900_000_000n); // the fetch itself takes 2 s
  });
});
