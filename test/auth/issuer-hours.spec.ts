// Hours of an issuer's life, with the service's clock turned by the test: real HTTP, but nobody waits.
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Issuer as FollowedIssuer } from '../../src/auth/issuers/issuer.js';
import { createLog } from '../../src/telemetry/log.js';
import { Metrics } from '../../src/telemetry/metrics.js';
import { Tracing } from '../../src/telemetry/tracing.js';
import { Issuer } from '../support/issuer.js';

let issuer: Issuer;
let followed: FollowedIssuer;
beforeEach(async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date'] });
  issuer = await Issuer.start();
  const settings = { OAUTH_JWKS_URI: `${issuer.url}/jwks`, OAUTH_ALLOW_HTTP: false };
  followed = new FollowedIssuer(
    issuer.url,
    settings,
    createLog('silent'),
    new Metrics(),
    new Tracing(),
  );
  followed.start();
  await followed['fetching'];
});
afterEach(async () => {
  followed.stop();
  await issuer.close();
  jest.useRealTimers();
});

/** Lets seconds pass; gives those in which the issuer was asked, one entry for each time. */
async function pass(
  seconds: number,
  eachSecond = async (_second: number): Promise<unknown> => undefined,
): Promise<number[]> {
  const asked: number[] = [];
  for (let second = 1; second <= seconds; second++) {
    const before = issuer.jwksHits;
    jest.advanceTimersByTime(1_000);
    await eachSecond(second);
    await followed['fetching'];
    for (let hit = before; hit < issuer.jwksHits; hit++) asked.push(second);
  }
  return asked;
}

/** The largest number of fetches in any minute. */
const mostInAMinute = (asked: readonly number[]): number =>
  Math.max(...asked.map((from) => asked.filter((at) => at >= from && at < from + 60).length));

const forge = (caller: (at: number) => string): Promise<unknown> =>
  Promise.all(
    Array.from({ length: 20 }, (_, at) => followed.lookFor(`forged-${Math.random()}`, caller(at))),
  );

describe('the keys of the issuer', () => {
  it('are asked for once a minute', async () => {
    expect(await pass(300)).toEqual([60, 120, 180, 240, 300]);
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
    await followed['fetching'];
    expect(followed.keys).toBeDefined();
    jest.advanceTimersByTime(2_000);
    await followed['fetching'];
    expect(followed.keys).toBeUndefined();
  });

  it('that change every 10 seconds work on, are found within 30 seconds, and are asked for four times a minute at most', async () => {
    let at = 0;
    let lookedFor = 0;
    const asked = await pass(300, async (second) => {
      expect(followed.keys?.kids).toContain('rsa-1');
      if (second % 10 === 0) await issuer.rotate(`k${++at}`);
      if (followed.keys?.kids.has(`k${at}`)) return;
      await followed.lookFor(`k${at}`, 'a caller'); // what a token with the new key id does
      lookedFor++;
    });
    expect(lookedFor).toBeGreaterThan(50);
    for (const [index, second] of asked.entries())
      expect(second - (asked[index - 1] ?? 0)).toBeLessThanOrEqual(30);
    expect(mostInAMinute(asked)).toBeLessThanOrEqual(4);
  });

  it('under forged key ids of one caller are asked for at most three times a minute', async () => {
    expect(mostInAMinute(await pass(600, () => forge(() => 'bad')))).toBeLessThanOrEqual(3);
  });

  it('under forged key ids of many callers are asked for at most four times a minute', async () => {
    const asked = await pass(600, (second) => forge((at) => `bad ${second} ${at}`));
    expect(mostInAMinute(asked)).toBeLessThanOrEqual(4);
  });

  it('are found at once by a good caller after each rotation, while another caller forges key ids all the time', async () => {
    let rotations = 0;
    const asked = await pass(1_200, async (second) => {
      await forge(() => 'bad');
      if (second % 61 !== 0) return;
      const { kid } = await issuer.rotate(`k${++rotations}`);
      await Promise.all([forge(() => 'bad'), followed.lookFor(kid, 'good')]);
      expect(followed.keys?.kids).toContain(kid);
    });
    expect(rotations).toBe(19);
    expect(mostInAMinute(asked)).toBeLessThanOrEqual(4);
  });

  it('are found at once, also while a hundred callers still send the withdrawn key id', async () => {
    let rotations = 0;
    await pass(600, async (second) => {
      const old = Array.from({ length: 100 }, (_, at) => followed.lookFor('old', `${at}`));
      if (second % 61 === 0) {
        const { kid } = await issuer.rotate(`k${++rotations}`);
        await followed.lookFor(kid, 'good');
        expect(followed.keys?.kids).toContain(kid);
      }
      await Promise.all(old);
    });
    expect(rotations).toBe(9);
  });
});

describe('while the issuer hangs', () => {
  it('a thousand requests wait, for two seconds at most, and no more', async () => {
    issuer.fault = 'slow';
    const waiting = Array.from({ length: 1_000 }, (_, at) => followed.lookFor('new', `${at}`));
    expect(await followed.lookFor('new', 'one more')).toBe(false);
    jest.advanceTimersByTime(2_000);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([true]));
    const again = followed.lookFor('new', 'later');
    jest.advanceTimersByTime(2_000);
    expect(await again).toBe(true);
  });
});
