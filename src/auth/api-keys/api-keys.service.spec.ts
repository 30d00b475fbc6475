import { expect, it } from '@jest/globals';
import { Configuration } from '../../configuration/configuration.js';
import type { DatabaseClock } from '../../following/database-clock.js';
import type { FollowedTopic } from '../../following/followed-topic.js';
import type { FollowingService } from '../../following/following.service.js';
import { Metrics } from '../../telemetry/metrics.js';
import { measureHeap } from '../../../test/support/process-figures.js';
import { hashApiKey } from './api-key.js';
import { ApiKeysService, KeyList, type ListedKey } from './api-keys.service.js';
import type { KeyUse } from './key-use.js';

const NOW_MS = 1_000_000;

interface Times {
  readonly expiresInMs?: number;
  readonly revokedInMs?: number;
}

/** V8 copies a part of less than 13 characters, and keeps the whole text for a longer one, such as a real key. */
const toKey = (index: number): string => `the listed key ${index}`;

/** Makes the service with the keys `the listed key 0`, `the listed key 1` and so on. */
function createService(times: readonly Times[], ageSeconds = 0) {
  const keys = new Map<string, ListedKey>();
  for (const [index, { expiresInMs = Infinity, revokedInMs = Infinity }] of times.entries()) {
    keys.set(hashApiKey(toKey(index)), {
      keyId: String(index),
      client: 'c',
      expiresAtMs: NOW_MS + expiresInMs,
      revokedAtMs: NOW_MS + revokedInMs,
    });
  }
  const topic = { value: new KeyList(keys), ageSeconds } as unknown as FollowedTopic<KeyList>;
  const metrics = new Metrics();
  const notedKeyIds: string[] = [];
  const service = new ApiKeysService(
    new Configuration(),
    { now: () => NOW_MS } as DatabaseClock,
    { note: (keyId: string) => notedKeyIds.push(keyId) } as unknown as KeyUse,
    { follow: () => topic } as unknown as FollowingService,
    metrics,
  );
  return { service, metrics, notedKeyIds };
}

it.each([
  { ageSeconds: 80_000, secondsLeft: 6_400, reason: undefined }, // API_KEY_MAX_AGE_SECONDS is 86,400
  { ageSeconds: 90_000, secondsLeft: 0, reason: 'no-key-list' },
])(
  'a list of keys that is $ageSeconds s old is used for another $secondsLeft s',
  ({ ageSeconds, secondsLeft, reason }) => {
    const { service } = createService([{}], ageSeconds);
    expect(service.secondsUntilRefusal).toBe(secondsLeft);
    const verdict = service.verify(toKey(0));
    expect(verdict.outcome === 'accepted' ? undefined : verdict.reason).toBe(reason);
  },
);

it.each([
  { expiresInMs: 0, revokedInMs: 1, reason: 'expired' },
  { expiresInMs: 1, revokedInMs: 0, reason: 'revoked' },
  { expiresInMs: 1, revokedInMs: 1, reason: undefined },
])('a key is accepted until it expires or is revoked, and then refused: %j', ({ reason, ...ends }) => {
  const { service, notedKeyIds } = createService([ends]);
  const verdict = service.verify(toKey(0));
  expect(verdict.outcome === 'accepted' ? undefined : verdict.reason).toBe(reason);
  expect(notedKeyIds).toEqual(reason === undefined ? ['0'] : []);
});

it.each([
  {
    what: 'the first of all times at which a key expires or is revoked',
    ends: [{ expiresInMs: 9_000 }, { expiresInMs: 5_000 }, { expiresInMs: 8_000, revokedInMs: 6_000 }],
    seconds: '5',
  },
  {
    what: 'the time at which a key will be revoked, if the key would expire later',
    ends: [{ expiresInMs: 9_000 }, { expiresInMs: 8_000, revokedInMs: 2_000 }],
    seconds: '2',
  },
  {
    what: 'the next time, and not the past time of a key that has expired or was revoked',
    ends: [{ expiresInMs: -1_000 }, { expiresInMs: 9_000, revokedInMs: -1 }, { expiresInMs: 7_000 }],
    seconds: '7',
  },
  { what: '+Inf, if no key expires', ends: [{}], seconds: '+Inf' },
])('the metric of the next expiry shows $what', async ({ ends, seconds }) => {
  const text = await createService(ends).metrics.registry.metrics();
  expect(text).toContain(`\norder_lookup_next_key_expiry_seconds ${seconds}\n`);
});

it.each([
  { what: 'unknown keys', toHeader: (index: number) => `unknown ${index} ${'x'.repeat(8_000)}` },
  {
    what: 'the rest of a header with a listed key',
    toHeader: (index: number) => `${toKey(index)},${'x'.repeat(8_000)}`,
  },
])('does not keep $what in memory', ({ toHeader }) => {
  const { service } = createService(Array.from({ length: 1_000 }, () => ({})));
  const before = measureHeap();
  for (let index = 0; index < 1_000; index++) {
    // The Buffer makes one text, as a header of Node.js is
    expect(service.verify(Buffer.from(toHeader(index)).toString('latin1'))).toMatchObject({ outcome: 'refused' });
  }
  expect(measureHeap() - before).toBeLessThan(4 * 1024 ** 2); // together the headers have 8 MB
});
