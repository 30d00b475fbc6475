// Hours of an issuer's life, with the service's clock turned by the test: real HTTP, but nobody waits.
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { JwksService } from '../../src/auth/issuers/jwks.service.js';
import { Configuration } from '../../src/configuration/configuration.js';
import { createLog } from '../../src/telemetry/log.js';
import { Issuer } from '../support/issuer.js';

let issuer: Issuer;
let service: JwksService;
beforeEach(async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date'] });
  issuer = await Issuer.start();
  service = new JwksService(
    Object.assign(new Configuration(), {
      OAUTH_ISSUER: issuer.url,
      OAUTH_JWKS_URI: `${issuer.url}/jwks`,
    }),
    createLog('silent'),
  );
  service.start();
  await service['fetching'];
});
afterEach(async () => {
  service.stop();
  await issuer.close();
  jest.useRealTimers();
});

/** Lets seconds pass; gives those in which the issuer was asked. */
async function pass(
  seconds: number,
  eachSecond = async (_second: number): Promise<unknown> => undefined,
): Promise<number[]> {
  const asked: number[] = [];
  for (let second = 1; second <= seconds; second++) {
    const before = issuer.jwksHits;
    jest.advanceTimersByTime(1_000);
    await eachSecond(second);
    await service['fetching'];
    if (issuer.jwksHits > before) asked.push(second);
  }
  return asked;
}

describe('the keys of the issuer', () => {
  it('are asked for once a minute', async () => {
    expect(await pass(300)).toEqual([60, 120, 180, 240, 300]);
  });

  it('outlive an outage of 30 minutes, which is met with pauses that grow, and are fresh within a minute of its end', async () => {
    issuer.fault = 'down';
    const asked = await pass(1_800, async () => expect(service.current?.kids).toContain('rsa-1'));
    expect(asked.slice(0, 8)).toEqual([60, 61, 63, 67, 75, 91, 123, 183]);
    expect(asked).toHaveLength(8 + 26);
    issuer.fault = 'none';
    await issuer.rotate('new');
    await pass(60);
    expect(service.current?.kids).toContain('new');
  });

  it('are kept for a day and no longer', async () => {
    issuer.fault = 'status 500';
    jest.advanceTimersByTime(24 * 3_600_000 - 1_000);
    await service['fetching'];
    expect(service.current).toBeDefined();
    jest.advanceTimersByTime(2_000);
    await service['fetching'];
    expect(service.current).toBeUndefined();
  });

  it('that change every 10 seconds work on, are found within 30 seconds, and are asked for three times a minute at most', async () => {
    const found: number[] = [];
    let at = 0;
    let lookedFor = 0;
    const asked = await pass(300, async (second) => {
      expect(service.current?.kids).toContain('rsa-1');
      if (second % 10 === 0) await issuer.rotate(`k${++at}`);
      if (service.current?.kids.has(`k${at}`)) return;
      await service.lookFor(); // what a token with the new key id does
      lookedFor++;
      if (service.current?.kids.has(`k${at}`)) found.push(second);
    });
    expect(lookedFor).toBeGreaterThan(100);
    for (const [index, second] of asked.entries())
      expect(second - (asked[index - 1] ?? 0)).toBeLessThanOrEqual(30);
    for (let start = 0; start < 240; start++)
      expect(
        asked.filter((second) => second > start && second <= start + 60).length,
      ).toBeLessThanOrEqual(3);
    expect(found.length).toBeGreaterThan(0);
  });

  it('under forged key ids are asked for at most three times a minute', async () => {
    const asked = await pass(600, async () =>
      Promise.all(Array.from({ length: 20 }, async () => service.lookFor())),
    );
    expect(asked.length).toBeLessThanOrEqual(21);
    for (let start = 0; start < 540; start++)
      expect(
        asked.filter((second) => second > start && second <= start + 60).length,
      ).toBeLessThanOrEqual(3);
  });
});
