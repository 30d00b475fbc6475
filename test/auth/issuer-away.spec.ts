// Tests what callers get while an issuer does not answer, at the start or later. The tests move the clock.
import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Issuer, type SigningKey, createSigningKeys } from '../support/issuer.js';
import { Verifier } from '../support/verifier.js';

const DAY_MS = 24 * 3_600_000;
const MINUTE_SECONDS = 60;
/** The time between the starts of two fetches, REFRESH_INTERVAL_MS of key-set.ts. */
const REFRESH_SECONDS = 35;
/** The time between the starts of two fetches after a failure, RETRY_INTERVAL_MS of key-set.ts. */
const RETRY_SECONDS = 5;

let keys: SigningKey[];
let source: Issuer;
let verifier: Verifier;

beforeAll(async () => {
  keys = await createSigningKeys();
});
beforeEach(async () => {
  source = await Issuer.start(keys);
  Verifier.replaceClock();
  verifier = new Verifier([source]);
});
afterEach(async () => {
  verifier.issuers.onApplicationShutdown();
  jest.restoreAllMocks();
  jest.useRealTimers();
  await source.close();
});

const statusOfNewToken = async (): Promise<number> => verifier.findStatus(await source.createToken());

describe('before the first keys', () => {
  it('no token can be checked, so callers get 503', async () => {
    expect(await verifier.verify(await source.createToken())).toMatchObject({
      outcome: 'undecided',
      reason: 'no-signing-keys',
    });
    expect(verifier.issuer.ageSeconds).toBe(Infinity);
    expect(verifier.issuer.secondsUntilRefusal).toBe(0);
    expect(verifier.issuers.unavailableReason).toBe(`The signing keys of ${source.url} were not fetched yet.`);
  });

  it.each(['down', 'status 500'] as const)('an issuer with the fault "%s" is asked again each 5 s', async (fault) => {
    source.fault = fault;
    await verifier.start();
    await verifier.pass(4 * RETRY_SECONDS);
    expect(await statusOfNewToken()).toBe(503);
    expect(verifier.warnings).toHaveLength(1);
    source.fault = 'none';
    const fetches = await verifier.pass(RETRY_SECONDS);
    expect(fetches).toHaveLength(1);
    expect(await statusOfNewToken()).toBe(200);
    expect(verifier.issuers.unavailableReason).toBeUndefined();
  });
});

it('the keys of an issuer that needs 9 s for an answer are used, because the limit is 10 s', async () => {
  source.fault = 'held';
  void verifier.start();
  await verifier.until(() => source.isHoldingBack);
  jest.advanceTimersByTime(9_000);
  source.release();
  await verifier.until(() => !verifier.issuer.isFetching);
  expect(await statusOfNewToken()).toBe(200);
});

describe('after the first keys', () => {
  it('a fetch of an equal key set resets the age of the keys, and no remembered token is verified again', async () => {
    await verifier.start();
    const { keys: former } = verifier.issuer;
    await verifier.pass(MINUTE_SECONDS);
    expect(verifier.issuer.ageSeconds).toBe(MINUTE_SECONDS - REFRESH_SECONDS);
    expect(verifier.issuer.keys).toBe(former); // with another object the remembered tokens would be verified again
  });

  it('tokens are accepted until the keys are a day old, and then get 503', async () => {
    await verifier.start();
    const remembered = await source.createToken();
    expect(await verifier.findStatus(remembered)).toBe(200);
    source.fault = 'down';
    jest.advanceTimersByTime(DAY_MS - 1);
    await verifier.waitUntilSettled();
    expect([await verifier.findStatus(remembered), await statusOfNewToken()]).toEqual([200, 200]);
    jest.advanceTimersByTime(1);
    expect([await verifier.findStatus(remembered), await statusOfNewToken()]).toEqual([503, 503]);
    expect(verifier.issuers.unavailableReason).toBe(`The signing keys of ${source.url} are too old.`);
  });

  it('when the keys have become too old, the log says since when callers are refused', async () => {
    await verifier.start();
    source.fault = 'down';
    jest.advanceTimersByTime(DAY_MS + MINUTE_SECONDS * 1_000);
    await verifier.waitUntilSettled();
    const [refusal] = verifier.warnings as { readonly message: string; readonly callersRefusedAt: Date }[];
    expect(refusal?.message).toBe(`issuer ${source.url}: failed, callers are refused`);
    expect(Date.now() - Number(refusal?.callersRefusedAt)).toBeGreaterThanOrEqual(MINUTE_SECONDS * 1_000);
  });

  it('an issuer that begins to fail is asked each 5 s, and the log says when it works again', async () => {
    await verifier.start();
    source.fault = 'status 500';
    const attempts = [0, 1, 2, 3].map((failures) => REFRESH_SECONDS + failures * RETRY_SECONDS);
    expect(await verifier.pass(50)).toEqual(attempts);
    source.fault = 'none';
    await verifier.pass(MINUTE_SECONDS);
    expect(verifier.issuer.ageSeconds).toBeLessThan(MINUTE_SECONDS);
    expect(verifier.infos.map(({ message }) => message)).toContain(`issuer ${source.url}: works again`);
  });
});

it('after the end of the service the issuer is never asked again, also if a fetch was running at the end', async () => {
  await verifier.start();
  source.fault = 'slow';
  jest.advanceTimersByTime(REFRESH_SECONDS * 1_000);
  await verifier.until(() => source.isHoldingBack);
  verifier.issuers.onApplicationShutdown();
  await verifier.pass(2); // in this time the running fetch ends
  source.fault = 'none';
  expect(await verifier.pass(300)).toEqual([]);
});
