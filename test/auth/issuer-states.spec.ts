// The states of an issuer and their transitions: one test for each line of the table in docs/how-it-works.md.
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type SavedContent, fileOf } from '../../src/auth/issuers/saved-keys.js';
import { Issuer, type SigningKey, signingKeys } from '../support/issuer.js';
import { testFolder } from '../support/test-folder.js';
import { Verifier } from '../support/verifier.js';

const HOUR_MS = 3_600_000;
const MINUTE_SECONDS = 60;

const parent = testFolder();
let keys: SigningKey[];
let source: Issuer;
let folder: string;

beforeAll(async () => {
  keys = await signingKeys();
});
beforeEach(async () => {
  source = await Issuer.start(keys);
  Verifier.turnClock();
  folder = await mkdtemp(join(parent, 'last-good-'));
});
afterEach(async () => {
  jest.restoreAllMocks();
  jest.useRealTimers();
  await source.close();
});

const verifier = (): Verifier => new Verifier([source], { LAST_GOOD_FOLDER: folder });
const stateOf = ({ issuer }: Verifier): string => issuer.signingKeys.state.name;

interface FileContent {
  readonly keySet?: { readonly keys: readonly unknown[] };
  readonly fetchedAtEpochMs: number;
}

/** As an earlier process would have saved it. */
const save = (content: FileContent, ofIssuer = source.url): Promise<boolean> =>
  verifier().folder.save({ ...fileOf(source.url), source: ofIssuer }, content);
const damage = (): Promise<void> =>
  writeFile(join(folder, `${fileOf(source.url).name}.json`), '{"version":1,"content":{"keySet"');
const now = (): number => Date.now();
const NO_KEYS = { keys: [] };

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
    expect(begun.warnings).toHaveLength(2); // no file yet, and no keys
  });

  it('a fetch that succeeds: current, and its file says when', async () => {
    const before = now();
    const begun = await verifier().start();
    expect(stateOf(begun)).toBe('current');
    expect(begun.issuer.signingKeys.ageSeconds).toBe(0);
    expect(await begun.statusOf(await source.token())).toBe(200);
    expect(begun.issuers.unavailableReason).toBeUndefined();
    await begun.until(async () => (await begun.folder.load(fileOf(source.url))) !== undefined);
    const saved = (await begun.folder.load(fileOf(source.url))) as SavedContent;
    expect(saved.keySet).toEqual({ keys: source.published });
    expect(saved.fetchedAtEpochMs).toBeGreaterThanOrEqual(before - 1);
    expect(saved.fetchedAtEpochMs).toBeLessThanOrEqual(now());
  });

  it('a file of an earlier process: restored, with the age of its keys', async () => {
    await save({ keySet: { keys: source.published }, fetchedAtEpochMs: now() - 23 * HOUR_MS });
    source.fault = 'down';
    const begun = await verifier().start();
    expect(stateOf(begun)).toBe('restored');
    expect(begun.issuer.signingKeys.ageSeconds).toBeCloseTo(23 * 3_600, -1);
    expect(await begun.statusOf(await source.token())).toBe(200);
  });

  it.each([
    {
      what: 'is a day old',
      write: () => save({ keySet: NO_KEYS, fetchedAtEpochMs: now() - 24 * HOUR_MS }),
      reason: 'are older than 24 hours',
    },
    {
      what: 'is of the future',
      write: () => save({ keySet: NO_KEYS, fetchedAtEpochMs: now() + HOUR_MS }),
      reason: 'a clock was set back',
    },
    {
      what: 'has no key set',
      write: () => save({ fetchedAtEpochMs: now() }),
      reason: 'its keys are no key set',
    },
    {
      what: 'has a key that is none',
      write: () => save({ keySet: { keys: [7] }, fetchedAtEpochMs: now() }),
      reason: 'its keys are no key set',
    },
    {
      what: 'does not say when',
      write: () => save({ keySet: NO_KEYS, fetchedAtEpochMs: NaN }),
      reason: 'fetchedAtEpochMs is no number',
    },
    {
      what: 'is of another issuer',
      write: () => save({ keySet: NO_KEYS, fetchedAtEpochMs: now() }, 'https://other.example'),
      reason: 'it was written for https://other.example',
    },
    { what: 'is damaged', write: damage, reason: 'it is damaged' },
  ])('a file that $what: stays, with a line in the log', async ({ write, reason }) => {
    await write();
    source.fault = 'down';
    const begun = await verifier().start();
    expect(stateOf(begun)).toBe('waiting');
    const message = 'LAST_GOOD_FOLDER: a file is ignored';
    expect(begun.warnings).toContainEqual(
      expect.objectContaining({ message, reason: expect.stringContaining(reason) }),
    );
  });
});

describe('restored', () => {
  it('a fetch that fails: stays, until the keys are a day old; its file is not written anew', async () => {
    const saved = { keySet: { keys: source.published }, fetchedAtEpochMs: now() - 23 * HOUR_MS };
    await save(saved);
    source.fault = 'down';
    const begun = await verifier().start();
    jest.advanceTimersByTime(HOUR_MS - 10_000);
    await begun.settled();
    expect(stateOf(begun)).toBe('restored');
    expect(await begun.statusOf(await source.token())).toBe(200);
    jest.advanceTimersByTime(10_000);
    await begun.settled();
    expect(begun.issuer.signingKeys.secondsUntilRefusal).toBe(0);
    expect(await begun.statusOf(await source.token())).toBe(503);
    expect(await begun.folder.load(fileOf(source.url))).toEqual(saved);
  });

  it('a fetch that succeeds: current, and what the issuer says counts', async () => {
    await save({ keySet: NO_KEYS, fetchedAtEpochMs: now() });
    source.fault = 'held';
    const begun = verifier();
    const starting = begun.start();
    await begun.until(() => source.isHoldingBack);
    expect(stateOf(begun)).toBe('restored');
    expect(begun.issuer.signingKeys.verifyingKeyCount).toBe(0);
    source.release();
    await starting;
    expect(stateOf(begun)).toBe('current');
    expect(await begun.statusOf(await source.token())).toBe(200);
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

  it('an end during the start is an end: nothing is restored, and nothing is fetched', async () => {
    await save({ keySet: { keys: source.published }, fetchedAtEpochMs: now() });
    const { jwksHits } = source;
    const ended = verifier();
    const starting = ended.start();
    ended.issuers.onApplicationShutdown();
    await starting;
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
