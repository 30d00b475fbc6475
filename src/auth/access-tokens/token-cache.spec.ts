import { expect, it } from '@jest/globals';
import { usedHeap } from '../../../test/support/heap.js';
import type { AccessToken } from './access-token.js';
import { Metrics } from '../../telemetry/metrics.js';
import { TokenCache } from './token-cache.js';

it.each([
  [
    ['a', 'b', 'c'],
    [false, true, true],
  ],
  [
    ['a', 'b', 'a'],
    [true, true, false],
  ],
])(
  'a cache of two in which %j were added drops the oldest, and nothing for one that it has',
  (added, kept) => {
    const cache = new TokenCache(new Metrics(), 2);
    for (const text of added) cache.add(text, {} as AccessToken);
    expect(['a', 'b', 'c'].map((text) => cache.get(text) !== undefined)).toEqual(kept);
  },
);

it('keeps the text of a token, not the header that it was a part of', () => {
  const cache = new TokenCache(new Metrics());
  const before = usedHeap();
  for (let token = 0; token < 1_000; token++) {
    const text = `${' '.repeat(20_000)}${token}${'t'.repeat(100)}`;
    const header = Buffer.from(text).toString('latin1'); // in one piece, as Node's parser makes it
    cache.add(header.slice(20_000), {} as AccessToken);
  }
  expect(usedHeap() - before).toBeLessThan(2_000_000);
  expect(cache.get(`999${'t'.repeat(100)}`)).toBeDefined();
});
