import { expect, it } from '@jest/globals';
import { countSigningKeys, toSigningKeys } from './issuer.js';

it.each([
  { what: 'a public key', member: {}, count: 1 },
  { what: 'a key for signatures', member: { use: 'sig', key_ops: ['verify'], alg: 'RS256' }, count: 1 },
  { what: 'a key for encryption', member: { use: 'enc' }, count: 0 },
  { what: 'a key with an algorithm for encryption', member: { alg: 'RSA-OAEP' }, count: 0 },
  { what: 'a key for other operations', member: { key_ops: ['wrapKey'] }, count: 0 },
  { what: 'a secret', member: { kty: 'oct' }, count: 0 },
  { what: 'members of other types', member: { kty: 7, use: {}, alg: [], key_ops: 'x' }, count: 0 },
])('of $what, $count can verify a token', ({ member, count }) => {
  const { document } = toSigningKeys({ keys: [{ kty: 'RSA', ...member }] });
  expect(countSigningKeys(document)).toBe(count);
});

it.each([undefined, null, 7, [], {}, { keys: 'x' }, { keys: [7] }])('%j is no key set', (document) => {
  expect(() => toSigningKeys(document)).toThrow('malformed');
});
