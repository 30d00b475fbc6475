// The states of an issuer and their transitions: one test for each line of the table in docs/how-it-works.md.
import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Issuer, type SigningKey, signingKeys } from '../support/issuer.js';
import { Verifier } from '../support/verifier.js';

const HOUR_MS = 3_600_000;
const MINUTE_SECONDS = 60;

let keys: SigningKey[];
let source: Issuer;

beforeAll(async () => {
  keys = await signingKeys();
});
beforeEach(async () => {
  source = await Issuer.start(keys);
  Verifier.turnClock();
});
afterEach(async () => {
  jest.restoreAllMocks();
  jest.useRealTimers();
  await source.close();
});

const verifier = (): Verifier => new Verifier([source]);
const stateOf = ({ issuer }: Verifier): string => issuer.signingKeys.state.name;

describe('waiting', () => {
  it('is where it begins: no token can be judged', async () => {
    const begun = verifier();
    expect(stateOf(begun)).toBe('waiting');
    expect(begun.issuer.signingKeys.ageSeconds).toBe(Infinity);
    expect(begun.issuer.signingKeys.secondsUntilRefusal).toBe(0);
    expect(await begun.statusOf(await source.token())).toBe(503);
    expect(begun.issuers.unavailableReason).toBe('No signing keys of the issuer are available.');
  });

  it('a fetch that fails: stays, and tries again every 5 s', async () => {
    source.fault = 'status 500';
    const begun = await verifier().start();
    expect(await begun.pass(21)).toEqual([5, 10, 15, 20]);
    expect(stateOf(begun)).toBe('waiting');
    expect(begun.warnings).toHaveLength(1);
  });

  it('a fetch that succeeds: current', async () => {
    const begun = await verifier().start();
    expect(stateOf(begun)).toBe('current');
    expect(begun.issuer.signingKeys.ageSeconds).toBe(0);
    expect(await begun.statusOf(await source.token())).toBe(200);
    expect(begun.issuers.unavailableReason).toBeUndefined();
  });
});

describe('current', () => {
  it('a fetch that succeeds: stays, and the keys are new again', async () => {
    const begun = await verifier().start();
    const { keySet } = begun.issuer.signingKeys;
    await begun.pass(MINUTE_SECONDS);
    expect(stateOf(begun)).toBe('current');
    expect(begun.issuer.signingKeys.ageSeconds).toBeLessThan(10);
    expect(begun.issuer.signingKeys.keySet).toBe(keySet); // so remembered tokens are not verified again
  });

  it('a fetch that fails: away, and the keys are used until they are a day old', async () => {
    const begun = await verifier().start();
    source.fault = 'down';
    await begun.pass(MINUTE_SECONDS);
    expect(stateOf(begun)).toBe('away');
    expect(await begun.statusOf(await source.token())).toBe(200);
    jest.advanceTimersByTime(24 * HOUR_MS - MINUTE_SECONDS * 1_000 - 1);
    await begun.settled();
    expect(await begun.statusOf(await source.token())).toBe(200);
    jest.advanceTimersByTime(1);
    expect(await begun.statusOf(await source.token())).toBe(503);
    expect(begun.issuers.unavailableReason).toBe('No signing keys of the issuer are available.');
  });
});

describe('away', () => {
  it('a fetch that fails: stays, with pauses that grow to a minute', async () => {
    const begun = await verifier().start();
    source.fault = 'down';
    const asked = await begun.pass(300);
    expect(asked).toEqual([55, 60, 70, 90, 130, 185, 240, 295]);
    expect(stateOf(begun)).toBe('away');
  });

  it('a timer that fires early: the pause is held, and the fetch follows at its end', async () => {
    const begun = await verifier().start();
    source.fault = 'down';
    const { setTimeout: start } = globalThis;
    const startEarly = (run: () => void, delayMs = 0) => start(run, delayMs > 1_000 ? delayMs - 1 : delayMs);
    jest.spyOn(globalThis, 'setTimeout').mockImplementation(startEarly);
    expect(await begun.pass(100)).toEqual([55, 60, 70, 90]);
  });

  it('a fetch that succeeds: current, with a line in the log', async () => {
    const begun = await verifier().start();
    source.fault = 'down';
    await begun.pass(MINUTE_SECONDS);
    source.fault = 'none';
    await begun.pass(MINUTE_SECONDS);
    expect(stateOf(begun)).toBe('current');
    expect(begun.issuer.signingKeys.ageSeconds).toBeLessThan(MINUTE_SECONDS);
    const messages = begun.infos.map(({ message }) => message);
    expect(messages).toContain(`issuer ${source.url}: works again`);
  });
});

describe('its life', () => {
  it('a second start does nothing', async () => {
    const begun = await verifier().start();
    await begun.start();
    expect(await begun.pass(MINUTE_SECONDS)).toEqual([55]);
  });

  it('an end before the start is an end: nothing is fetched', async () => {
    const { jwksHits } = source;
    const ended = verifier();
    ended.issuers.onApplicationShutdown();
    await ended.start();
    expect(stateOf(ended)).toBe('waiting');
    expect(source.jwksHits).toBe(jwksHits);
  });

  it('an end during the first fetch is an end: its keys are dropped', async () => {
    source.fault = 'held';
    const ended = verifier();
    const starting = ended.start();
    await ended.until(() => source.isHoldingBack);
    ended.issuers.onApplicationShutdown();
    source.release();
    await starting;
    expect(stateOf(ended)).toBe('waiting');
    expect(await ended.pass(MINUTE_SECONDS)).toEqual([]);
  });

  it('an end during a fetch is an end', async () => {
    const begun = await verifier().start();
    source.fault = 'slow';
    jest.advanceTimersByTime(55_000);
    await begun.until(() => source.isHoldingBack);
    begun.issuers.onApplicationShutdown();
    await begun.pass(2); // the fetch ends
    source.fault = 'none';
    expect(await begun.pass(300)).toEqual([]);
  });
});
