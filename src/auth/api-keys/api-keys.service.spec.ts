import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { DataSource } from 'typeorm';
import { Configuration } from '../../configuration/configuration.js';
import type { DatabaseClock } from '../../database/database-clock.js';
import type { SnapshotsService } from '../../snapshots/snapshots.service.js';
import { generateApiKey, hashApiKey } from './api-key.js';
import { ApiKeysService, type KeyList, type ListedKey } from './api-keys.service.js';
import type { KeyUse } from './key-use.js';

const NOW = 1_000_000;
const TEXTS = Array.from({ length: 4 }, generateApiKey);

/** The service with key lists that the test sets. */
function begin() {
  const followed: { current: KeyList | undefined; age: number } = { current: undefined, age: 0 };
  const service = new ApiKeysService(
    {} as DataSource,
    new Configuration(),
    { now: () => NOW } as DatabaseClock,
    { note: () => undefined } as unknown as KeyUse,
    { follow: () => followed } as unknown as SnapshotsService,
  );
  return { followed, service };
}

const listOf = (keys: ReadonlyMap<string, ListedKey>): KeyList =>
  new Map([...keys].map(([text, key]) => [hashApiKey(text), key]));

const listedKey = fc.record({
  keyId: fc.constantFrom('one', 'two'),
  client: fc.constantFrom('a', 'b'),
  expiresAt: fc.constantFrom(NOW - 1, NOW, NOW + 1, Infinity),
  revokedAt: fc.constantFrom(NOW - 1, NOW, NOW + 1, Infinity),
});

describe('the verdict on an API key', () => {
  it('is that of the present list, whatever former lists said of the same text', () => {
    fc.assert(
      fc.property(
        fc.array(fc.dictionary(fc.constantFrom(...TEXTS), listedKey), { minLength: 2 }),
        (lists) => {
          const { followed, service } = begin();
          for (const keys of lists) {
            followed.current = listOf(new Map(Object.entries(keys)));
            for (const text of [...TEXTS, ...TEXTS]) {
              const key = keys[text];
              const verdict = service.verify(text);
              if (!key) expect(verdict).toMatchObject({ kind: 'refused', reason: 'unknown' });
              else if (key.revokedAt <= NOW)
                expect(verdict).toMatchObject({ kind: 'refused', reason: 'revoked' });
              else if (key.expiresAt <= NOW)
                expect(verdict).toMatchObject({ kind: 'refused', reason: 'expired' });
              else expect(verdict).toEqual({ kind: 'valid', holder: key });
            }
          }
        },
      ),
    );
  });
});
