import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { usedHeap } from '../../../test/support/heap.js';
import { Configuration } from '../../configuration/configuration.js';
import type { DatabaseClock } from '../../database/database-clock.js';
import { Metrics } from '../../telemetry/metrics.js';
import type { SnapshotsService } from '../../snapshots/snapshots.service.js';
import { generateApiKey, hashApiKey } from './api-key.js';
import { ApiKeysService, type KeyList, type ListedKey } from './api-keys.service.js';
import type { KeyListAge } from './key-list-age.js';
import type { KeyUse } from './key-use.js';

const NOW = 1_000_000;
const MAX_AGE_SECONDS = 900;
const TEXTS = Array.from({ length: 4 }, generateApiKey);

/** The service with key lists, an age of the list and a clock that the test sets. */
function begin() {
  const followed: { current: KeyList | undefined; age: number } = { current: undefined, age: 0 };
  const clock = { time: NOW, now: () => clock.time };
  const metrics = new Metrics();
  const service = new ApiKeysService(
    Object.assign(new Configuration(), { API_KEY_MAX_AGE_SECONDS: MAX_AGE_SECONDS }),
    clock as unknown as DatabaseClock,
    { note: () => undefined } as unknown as KeyUse,
    { note: () => undefined } as unknown as KeyListAge,
    { follow: () => followed } as unknown as SnapshotsService,
    metrics,
  );
  return { followed, clock, service, metrics };
}

const time = fc.constantFrom(NOW - 1, NOW, NOW + 1, Infinity);
const listedKey = fc.record({
  keyId: fc.constantFrom('one', 'two'),
  client: fc.constantFrom('a', 'b'),
  expiresAt: time,
  revokedAt: time,
});
type Listed = Readonly<Record<string, ListedKey>>;
const step = fc.record({
  /** The next list, or undefined: the list stays the same. */
  list: fc.option(fc.dictionary(fc.constantFrom(...TEXTS), listedKey), { nil: undefined }),
  age: fc.constantFrom(0, MAX_AGE_SECONDS, MAX_AGE_SECONDS + 1),
  time: fc.integer({ min: NOW - 2, max: NOW + 2 }),
});

const listOf = (keys: Listed): KeyList =>
  new Map(Object.entries(keys).map(([text, key]) => [hashApiKey(text), key]));

function expected(key: ListedKey | undefined, hasList: boolean, age: number, now: number) {
  if (!hasList || age > MAX_AGE_SECONDS) return { kind: 'undecided' };
  if (!key) return { kind: 'refused', reason: 'unknown' };
  if (key.revokedAt <= now) return { kind: 'refused', reason: 'revoked' };
  return key.expiresAt <= now
    ? { kind: 'refused', reason: 'expired' }
    : { kind: 'valid', holder: key };
}

describe('the verdict on an API key', () => {
  it('is that of the present list, age and time, whatever was said of the same text before', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 2 }), (steps) => {
        const { followed, clock, service } = begin();
        let keys: Listed = {};
        for (const next of steps) {
          if (next.list) followed.current = listOf((keys = next.list));
          followed.age = next.age;
          clock.time = next.time;
          for (const text of [...TEXTS, ...TEXTS])
            expect(service.verify(text)).toMatchObject(
              expected(keys[text], followed.current !== undefined, next.age, next.time),
            );
        }
      }),
    );
  });

  it('leaves nothing in memory for texts of unknown keys, whatever they are', () => {
    const { followed, service } = begin();
    followed.current = new Map();
    const before = usedHeap();
    for (let key = 0; key < 2_000; key++)
      expect(service.verify(`${key}${'k'.repeat(8_000)}`)).toMatchObject({ reason: 'unknown' });
    for (const name of ['__proto__', 'constructor', 'has', 'size'])
      expect(service.verify(name)).toMatchObject({ reason: 'unknown' });
    expect(usedHeap() - before).toBeLessThan(2_000_000);
  });
});

it.each<[string, [expiresAt: number, revokedAt: number][], number]>([
  [
    'the first end of a key in force',
    [
      [9_000, Infinity],
      [5_000, Infinity],
      [8_000, 6_000],
    ],
    5,
  ],
  [
    'a rotation',
    [
      [9_000, Infinity],
      [8_000, 2_000],
    ],
    2,
  ],
  [
    'no key that has ended',
    [
      [-1_000, Infinity],
      [9_000, -1],
      [7_000, Infinity],
    ],
    7,
  ],
  ['nothing, where no key ends', [[Infinity, Infinity]], Infinity],
])('the metric of the next expiry tells of %s', async (_, ends, seconds) => {
  const { followed, metrics } = begin();
  followed.current = new Map(
    ends.map(([expires, revoked], at) => [
      `${at}`,
      { keyId: `${at}`, client: 'c', expiresAt: NOW + expires, revokedAt: NOW + revoked },
    ]),
  );
  const { values } = await metrics.nextKeyExpiry.get();
  expect(values.map(({ value }) => value)).toEqual([seconds]);
});
