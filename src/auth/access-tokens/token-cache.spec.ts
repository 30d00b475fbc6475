import { expect, it } from '@jest/globals';
import type { AccessToken } from './access-token.js';
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
    const cache = new TokenCache(2);
    for (const text of added) cache.add(text, {} as AccessToken);
    expect(['a', 'b', 'c'].map((text) => cache.get(text) !== undefined)).toEqual(kept);
  },
);
