import { expect, it } from '@jest/globals';
import { KeySet } from './key-set.js';

it.each([
  { what: 'a public key', member: {}, count: 1 },
  {
    what: 'a key for signatures',
    member: { use: 'sig', key_ops: ['verify'], alg: 'RS256' },
    count: 1,
  },
  { what: 'a key for encryption', member: { use: 'enc' }, count: 0 },
  { what: 'a key with an algorithm for encryption', member: { alg: 'RSA-OAEP' }, count: 0 },
  { what: 'a key for other operations', member: { key_ops: ['wrapKey'] }, count: 0 },
  { what: 'a secret', member: { kty: 'oct' }, count: 0 },
  { what: 'members of other types', member: { kty: 7, use: {}, alg: [], key_ops: 'x' }, count: 0 },
])('of $what, $count can verify a token', ({ member, count }) => {
  expect(new KeySet({ keys: [{ kty: 'RSA', ...member }] }).verifyingKeyCount).toBe(count);
});

it('key ids that are no text are left out', () => {
  const keySet = new KeySet({
    keys: [
      { kty: 'RSA', kid: 7 },
      { kty: 'RSA', kid: 'a' },
    ],
  });
  expect(keySet.keyIds).toEqual(['a']);
});

it.each([undefined, null, 7, [], {}, { keys: 'x' }, { keys: [7] }])('%j is no key set', (document) => {
  expect(() => new KeySet(document)).toThrow('malformed');
});
