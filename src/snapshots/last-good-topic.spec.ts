import { readFile, writeFile } from 'node:fs/promises';
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

beforeEach(() => {
  reasons = [];
});

/** A process of its own, whose database's clock is ahead by so much. */
function start({ aheadMs = 0, maxAgeSeconds = 900 } = {}) {
  const logger = {
    log: () => undefined,
    warn: ({ reason }: { reason: string }) => reasons.push(reason),
  } as unknown as ServiceLogger;
  const configuration = Object.assign(new Configuration(), { LAST_GOOD_FOLDER });
  const folder = new LastGoodFolder(configuration, new Metrics(), logger);
  const clock = new DatabaseClock();
  clock.assumeAhead(aheadMs);
  const topic = {
    name: 'keys',
    maxAgeSeconds,
    toJson: (value: string) => value,
    fromJson: assertText,
  } as Topic<string>;
  return { clock, folder, lastGood: new LastGoodTopic({ topic, folder, sessions, clock }) };
}

const content = (value: string, ageMs = 0): Content<string> => ({
  value,
  stamp: `stamp of ${value}`,
  confirmedAtMonotonicMs: performance.now() - ageMs,
  servedSinceEpochMs: 0,
});

it('gives the next process the value, its stamp, its age and the clock of the database', async () => {
  const former = start({ aheadMs: 90_000 });
  await former.lastGood.saveIfDue(content('one', 60_000));
  const next = start();
  const restored = await next.lastGood.load();
  expect(restored).toMatchObject({ value: 'one', stamp: 'stamp of one' });
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

it('writes another value at once, and the same one only to say when it was confirmed', async () => {
  const { lastGood } = start({ maxAgeSeconds: 1e-9 });
  const confirmedAt = async (): Promise<number> =>
    JSON.parse(await readFile(path, 'utf8')).content.confirmedAtEpochMs as number;
  await lastGood.saveIfDue(content('one', 60_000));
  const first = await confirmedAt();
  const unchanged = content('one', 60_000 + performance.now());
  await lastGood.saveIfDue(unchanged);
  // Written again, it is not younger: nobody has confirmed it
  expect(await confirmedAt()).toBeLessThan(first);

  const endless = start({ maxAgeSeconds: Infinity }).lastGood;
  await endless.saveIfDue(content('two'));
  await writeFile(path, 'not written again');
  await endless.saveIfDue(content('two'));
  expect(await readFile(path, 'utf8')).toBe('not written again');
  await endless.saveIfDue(content('three'));
  expect(await start().lastGood.load()).toMatchObject({ value: 'three' });
});

it.each([
  { what: 'no object', saved: 1 },
  { what: 'without a stamp', saved: { confirmedAtEpochMs: 1, clockAheadMs: 0, value: '' } },
  {
    what: 'without a time',
    saved: { stamp: 's', confirmedAtEpochMs: null, clockAheadMs: 0, value: '' },
  },
  { what: 'without a clock', saved: { stamp: 's', confirmedAtEpochMs: 1, value: '' } },
  {
    what: 'of another form in its value',
    saved: { stamp: 's', confirmedAtEpochMs: 1, clockAheadMs: 0, value: 1 },
  },
])('ignores a file that is $what, with one line', async ({ saved }) => {
  const document = { version: 1, source: sessions.databaseName, content: saved };
  await writeFile(path, JSON.stringify(document));
  const { lastGood, clock } = start();
  expect(await lastGood.load()).toBeUndefined();
  expect(reasons).toEqual([expect.stringContaining('it is damaged')]);
  expect(clock.aheadMs).toBeCloseTo(0, -2);
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
