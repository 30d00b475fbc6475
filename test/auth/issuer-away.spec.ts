// An issuer that does not answer, at the start or later, with a clock that the test turns.
import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Issuer, type SigningKey, signingKeys } from '../support/issuer.js';
import { Verifier } from '../support/verifier.js';

const DAY_MS = 24 * 3_600_000;
const MINUTE_SECONDS = 60;
const notFetched = (): string => `The signing keys of ${source.url} were not fetched yet.`;

let keys: SigningKey[];
let source: Issuer;
let verifier: Verifier;

beforeAll(async () => {
  keys = await signingKeys();
});
beforeEach(async () => {
  source = await Issuer.start(keys);
  Verifier.turnClock();
  verifier = new Verifier([source]);
});
afterEach(async () => {
  verifier.issuers.onApplicationShutdown();
  jest.restoreAllMocks();
  jest.useRealTimers();
  await source.close();
});

const statusOfNew = async (): Promise<number> => verifier.findStatus(await source.token());

describe('before the first keys', () => {
  it('no token can be judged: 503', async () => {
    expect(await verifier.verify(await source.token())).toMatchObject({
      outcome: 'undecided',
      reason: 'no-signing-keys',
    });
    expect(verifier.issuer.ageSeconds).toBe(Infinity);
    expect(verifier.issuer.secondsUntilRefusal).toBe(0);
    expect(verifier.issuers.unavailableReason).toBe(notFetched());
  });

  it.each(['down', 'status 500'] as const)('an issuer that is %s is asked again each 5 s', async (fault) => {
    source.fault = fault;
    await verifier.start();
    await verifier.pass(21);
    expect(await statusOfNew()).toBe(503);
    expect(verifier.warnings).toHaveLength(1);
    source.fault = 'none';
    expect(await verifier.pass(5)).toHaveLength(1);
    expect(await statusOfNew()).toBe(200);
    expect(verifier.issuers.unavailableReason).toBeUndefined();
  });
});

it('an issuer that needs 9 s for each answer is slow, and its keys are used', async () => {
  source.fault = 'held';
  void verifier.start();
  await verifier.until(() => source.isHoldingBack);
  jest.advanceTimersByTime(9_000);
  source.release();
  await verifier.until(() => !verifier.issuer.isAsked);
  expect(await statusOfNew()).toBe(200);
});

describe('with keys', () => {
  it('an equal key set makes them new again, and remembered tokens are not verified again', async () => {
    await verifier.start();
    const { keys: former } = verifier.issuer;
    await verifier.pass(MINUTE_SECONDS);
    expect(verifier.issuer.ageSeconds).toBe(25);
    expect(verifier.issuer.keys).toBe(former);
  });

  it('they are used until they are a day old, then tokens get 503', async () => {
    await verifier.start();
    const remembered = await source.token();
    expect(await verifier.findStatus(remembered)).toBe(200);
    source.fault = 'down';
    jest.advanceTimersByTime(DAY_MS - 1);
    await verifier.settled();
    expect([await verifier.findStatus(remembered), await statusOfNew()]).toEqual([200, 200]);
    jest.advanceTimersByTime(1);
    expect([await verifier.findStatus(remembered), await statusOfNew()]).toEqual([503, 503]);
    expect(verifier.issuers.unavailableReason).toBe(`The signing keys of ${source.url} are too old.`);
  });

  it('the issuer is asked each 5 s while it fails, and its return has a line in the log', async () => {
    await verifier.start();
    source.fault = 'status 500';
    expect(await verifier.pass(50)).toEqual([35, 40, 45, 50]);
    source.fault = 'none';
    await verifier.pass(MINUTE_SECONDS);
    expect(verifier.issuer.ageSeconds).toBeLessThan(MINUTE_SECONDS);
    expect(verifier.infos.map(({ message }) => message)).toContain(`issuer ${source.url}: works again`);
  });
});

it('an end during a fetch is an end: nobody is asked any more', async () => {
  await verifier.start();
  source.fault = 'slow';
  jest.advanceTimersByTime(35_000);
  await verifier.until(() => source.isHoldingBack);
  verifier.issuers.onApplicationShutdown();
  await verifier.pass(2); // the fetch ends
  source.fault = 'none';
  expect(await verifier.pass(300)).toEqual([]);
});
