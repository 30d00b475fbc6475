import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it, jest } from '@jest/globals';
import { testFolder } from '../../test/support/test-folder.js';
import { Configuration } from '../configuration/configuration.js';
import { DatabaseClock } from '../database/database-clock.js';
import { Metrics } from '../telemetry/metrics.js';
import type { ServiceLogger } from '../telemetry/service-logger.js';
import { assertText } from './json-form.js';
import { LastGoodFolder } from './last-good-folder.js';
import { LastGoodTopic } from './last-good-topic.js';
import type { Content } from './polled-snapshot.js';
import type { Topic } from './topic.js';

const LAST_GOOD_FOLDER = testFolder();
const path = join(LAST_GOOD_FOLDER, 'keys.json');
const sessions = { databaseName: 'db:5432/orders' };
let reasons: unknown[];

beforeEach(async () => {
  reasons = [];
  await rm(path, { force: true });
});

/** Each reading of the database makes another object. */
interface Value {
  readonly text: string;
}

/** A process of its own, whose database's clock is ahead by so much. */
function start({ aheadMs = 0, maxAgeSeconds = 900, toJson = ({ text }: Value): unknown => text } = {}) {
  const logger = {
    log: () => undefined,
    warn: ({ reason }: { reason: string }) => reasons.push(reason),
  } as unknown as ServiceLogger;
  const configuration = Object.assign(new Configuration(), { LAST_GOOD_FOLDER });
  const folder = new LastGoodFolder(configuration, new Metrics(), logger);
  const clock = new DatabaseClock();
  clock.assume({ aheadMs, foundAtEpochMs: 0 });
  const topic = {
    name: 'keys',
    maxAgeSeconds,
    toJson,
    fromJson: (json) => ({ text: assertText(json, 'value') }),
  } as Topic<Value>;
  return { clock, folder, lastGood: new LastGoodTopic({ topic, folder, sessions, clock }) };
}

const content = (text: string, ageMs = 0): Content<Value> => ({
  value: { text },
  stamp: `stamp of ${text}`,
  confirmedAtMonotonicMs: performance.now() - ageMs,
  servedSinceEpochMs: 0,
});

interface SavedFile {
  readonly content: { readonly value: string; readonly confirmedAtEpochMs: number };
}

const savedFile = async (): Promise<SavedFile> => JSON.parse(await readFile(path, 'utf8'));
const savedValue = async (): Promise<string> => (await savedFile()).content.value;

async function changeFile(changes: object): Promise<void> {
  const saved = await savedFile();
  await writeFile(path, JSON.stringify({ ...saved, content: { ...saved.content, ...changes } }));
}

it('gives the next process the value, its stamp, its age and the clock of the database', async () => {
  const former = start({ aheadMs: 90_000 });
  await former.lastGood.saveIfDue(content('one', 60_000));
  const next = start();
  const restored = await next.lastGood.load();
  expect(restored).toMatchObject({ value: { text: 'one' }, stamp: 'stamp of one' });
  const ageMs = performance.now() - (restored?.confirmedAtMonotonicMs ?? NaN);
  expect(ageMs).toBeGreaterThanOrEqual(60_000);
  expect(ageMs).toBeLessThan(90_000);
  expect(next.clock.aheadMs).toBeCloseTo(90_000, -2);
  expect(reasons).toEqual([]);
});

it('takes a value for too old that was confirmed in the future: the clock was set back', async () => {
  await start().lastGood.saveIfDue(content('one', -3_600_000));
  const restored = await start().lastGood.load();
  expect(restored?.confirmedAtMonotonicMs).toBe(-Infinity);
});

it('goes by the clock of its machine if another machine wrote the file', async () => {
  await start({ aheadMs: 90_000 }).lastGood.saveIfDue(content('one'));
  await changeFile({ hostName: 'another' });
  const { lastGood, clock } = start();
  await lastGood.load();
  expect(clock.aheadMs).toBeCloseTo(0, -2);
});

it('writes another value or stamp at once, and the same ones only to say when they were confirmed', async () => {
  const { lastGood, folder } = start({ maxAgeSeconds: 180 });
  const save = jest.spyOn(folder, 'save');
  const first = content('one', 600_000);
  await lastGood.saveIfDue(first);
  await lastGood.saveIfDue({ ...first, confirmedAtMonotonicMs: performance.now() - 541_000 });
  expect(save).toHaveBeenCalledTimes(1);
  await lastGood.saveIfDue({ ...first, confirmedAtMonotonicMs: performance.now() - 539_000 });
  await lastGood.saveIfDue({ ...first, stamp: 'other', confirmedAtMonotonicMs: performance.now() });
  await lastGood.saveIfDue(content('two'));
  expect(save).toHaveBeenCalledTimes(4);
});

it('does not write again what the database has not confirmed since: it may be away', async () => {
  const { lastGood, folder } = start({ maxAgeSeconds: 1e-9 });
  const save = jest.spyOn(folder, 'save');
  const unconfirmed = content('one', 60_000);
  await lastGood.saveIfDue(unconfirmed);
  await lastGood.saveIfDue({ ...unconfirmed });
  expect(save).toHaveBeenCalledTimes(1);
});

it('writes what has no greatest age when it changes only', async () => {
  const { lastGood } = start({ maxAgeSeconds: Infinity });
  const first = content('two');
  await lastGood.saveIfDue(first);
  await changeFile({ value: 'not written again' });
  await lastGood.saveIfDue({ ...first, confirmedAtMonotonicMs: performance.now() });
  expect(await savedValue()).toBe('not written again');
  await lastGood.saveIfDue(content('three'));
  expect(await savedValue()).toBe('three');
});

it('leaves the file that another replica wrote with a later word of the database, and tries again', async () => {
  const { lastGood } = start();
  await start().lastGood.saveIfDue(content('of another replica'));
  const unconfirmed = content('without the database', 30_000);
  await lastGood.saveIfDue(unconfirmed);
  expect(await savedValue()).toBe('of another replica');
  expect(lastGood.pauseMs).toBe(2_000);
  await lastGood.saveIfDue({ ...unconfirmed, confirmedAtMonotonicMs: performance.now() });
  expect(await savedValue()).toBe('without the database');
});

it('does not write what another replica wrote already', async () => {
  const { lastGood } = start();
  await start().lastGood.saveIfDue(content('one'));
  const { confirmedAtEpochMs } = (await savedFile()).content;
  await lastGood.saveIfDue(content('one', 10_000));
  expect((await savedFile()).content.confirmedAtEpochMs).toBe(confirmedAtEpochMs);
  expect(lastGood.pauseMs).toBe(1_000);
});

it.each([
  { what: 'of the future', spoil: () => changeFile({ confirmedAtEpochMs: Date.now() + 60_000 }) },
  { what: 'damaged', spoil: () => writeFile(path, '{') },
  { what: 'of another form', spoil: () => changeFile({ confirmedAtEpochMs: 'x' }) },
])('replaces a file that is $what', async ({ spoil }) => {
  await start().lastGood.saveIfDue(content('one'));
  await spoil();
  await start().lastGood.saveIfDue(content('two', 30_000));
  expect(await savedValue()).toBe('two');
});

const SAVED = { stamp: 's', confirmedAtEpochMs: 1, hostName: 'h', clockAheadMs: 0, value: '' };
it.each([
  { what: 'no object', saved: 1 },
  { what: 'a list', saved: [] },
  { what: 'without a stamp', saved: { ...SAVED, stamp: undefined } },
  { what: 'without a time', saved: { ...SAVED, confirmedAtEpochMs: null } },
  { what: 'without a machine', saved: { ...SAVED, hostName: undefined } },
  { what: 'without a clock', saved: { ...SAVED, clockAheadMs: undefined } },
  { what: 'of another form in its value', saved: { ...SAVED, value: 1 } },
])('ignores a file that is $what, with one line', async ({ saved }) => {
  const document = { version: 1, source: sessions.databaseName, content: saved };
  await writeFile(path, JSON.stringify(document));
  const { lastGood, clock } = start();
  expect(await lastGood.load()).toBeUndefined();
  expect(reasons).toEqual([expect.stringContaining('it is damaged')]);
  expect(clock.aheadMs).toBeCloseTo(0, -2);
});

it('content that cannot be made to text is a failure of the folder, and ends nothing', async () => {
  const toJson = (): never => {
    throw new Error('NaN is no moment');
  };
  const { lastGood } = start({ toJson });
  await lastGood.saveIfDue(content('one'));
  expect(reasons).toEqual(['NaN is no moment']);
  expect(lastGood.pauseMs).toBe(2_000);
});

it('after a failure the next write comes later, up to a minute, and soon again after a success', async () => {
  const { lastGood, folder } = start();
  const save = jest.spyOn(folder, 'save').mockResolvedValue(false);
  expect(lastGood.pauseMs).toBe(1_000);
  await lastGood.saveIfDue(content('one'));
  expect(lastGood.pauseMs).toBe(2_000);
  for (let failure = 0; failure < 20; failure++) await lastGood.saveIfDue(content('one'));
  expect(lastGood.pauseMs).toBe(60_000);
  save.mockRestore();
  await lastGood.saveIfDue(content('one'));
  expect(lastGood.pauseMs).toBe(1_000);
});
