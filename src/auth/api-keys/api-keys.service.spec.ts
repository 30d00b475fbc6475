import { expect, it } from '@jest/globals';
import { Configuration } from '../../configuration/configuration.js';
import type { DatabaseClock } from '../../database/database-clock.js';
import type { SnapshotsService } from '../../snapshots/snapshots.service.js';
import { Metrics } from '../../telemetry/metrics.js';
import { hashApiKey } from './api-key.js';
import { ApiKeysService } from './api-keys.service.js';
import type { KeyUse } from './key-use.js';

const NOW = 1_000_000;
const KEY = 'a key';

/** The service with one key list, in which each key ends so many milliseconds from now. */
function begin(ends: readonly (readonly [expires: number, revoked: number])[]) {
  const keys = ends.map(([expires, revoked], at) => [
    hashApiKey(`${KEY}${at || ''}`),
    { keyId: `${at}`, client: 'c', expiresAt: NOW + expires, revokedAt: NOW + revoked },
  ]);
  const metrics = new Metrics();
  const service = new ApiKeysService(
    new Configuration(),
    { now: () => NOW } as DatabaseClock,
    { note: () => undefined } as unknown as KeyUse,
    { poll: () => ({ current: new Map(keys as []), age: 0 }) } as unknown as SnapshotsService,
    metrics,
  );
  return { service, metrics };
}

it.each([
  [0, 1, 'expired'],
  [1, 0, 'revoked'],
  [1, 1, undefined],
])('a key ends at the moment in its row: %i, %i', (expires, revoked, reason) => {
  const verdict = begin([[expires, revoked]]).service.verify(KEY);
  expect(verdict.isAccepted ? undefined : verdict.fault.reason).toBe(reason);
});

const end = (expires: number, revoked = Infinity) => [expires, revoked] as const;

it.each<[string, ReturnType<typeof end>[], number]>([
  ['the first end of a key in force', [end(9_000), end(5_000), end(8_000, 6_000)], 5],
  ['a rotation', [end(9_000), end(8_000, 2_000)], 2],
  ['no key that has ended', [end(-1_000), end(9_000, -1), end(7_000)], 7],
  ['nothing, where no key ends', [end(Infinity)], Infinity],
])('the metric of the next expiry tells of %s', async (_, ends, seconds) => {
  const text = await begin(ends).metrics.registry.metrics();
  const value = seconds === Infinity ? '+Inf' : `${seconds}`;
  expect(text).toContain(`\norder_lookup_next_key_expiry_seconds ${value}\n`);
});
