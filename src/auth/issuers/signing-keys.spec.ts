import { generateKeyPairSync } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { readKeys, toSigningKeys } from './signing-keys.js';

const rsa = (modulusLength: number) => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength });
  return { secret: privateKey.export({ format: 'jwk' }), shown: publicKey.export({ format: 'jwk' }) };
};
const { secret, shown } = rsa(2_048);
const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).publicKey.export({ format: 'jwk' });
const x25519 = generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' });
const ed25519 = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });

it.each([
  { what: 'a public key', key: shown, count: 1 },
  { what: 'a key for signatures', key: { ...shown, use: 'sig', key_ops: ['verify'], alg: 'RS256' }, count: 1 },
  { what: 'a key of each curve', key: ec('P-521'), count: 1 },
  { what: 'an Ed25519 key', key: ed25519, count: 1 },
  { what: 'a key of a curve without an algorithm', key: ec('secp256k1'), count: 0 },
  { what: 'a key for key agreement', key: x25519, count: 0 },
  { what: 'a key for encryption', key: { ...shown, use: 'enc' }, count: 0 },
  { what: 'a key with an algorithm for encryption', key: { ...shown, alg: 'RSA-OAEP' }, count: 0 },
  { what: 'a key for other operations', key: { ...shown, key_ops: ['wrapKey'] }, count: 0 },
  { what: 'a short RSA key', key: rsa(1_024).shown, count: 0 },
  { what: 'a private key', key: secret, count: 0 },
  { what: 'a key whose numbers are damaged', key: { kty: 'RSA', n: '!', e: 'AQAB' }, count: 0 },
  { what: 'a shared secret', key: { kty: 'oct', k: 'AAAA' }, count: 0 },
  { what: 'members of other types', key: { kty: 7, use: {}, alg: [], key_ops: 'x' }, count: 0 },
])('$what gives $count keys that can verify a token', async ({ key, count }) => {
  const { usableCount } = await toSigningKeys({ keys: [key] });
  expect(usableCount).toBe(count);
});

it.each([
  { document: undefined, found: 'has no list "keys"' },
  { document: null, found: 'has no list "keys"' },
  { document: [], found: 'has no list "keys"' },
  { document: { keys: 'x' }, found: 'has no list "keys"' },
  { document: { keys: [7] }, found: 'has no list "keys"' },
  { document: { keys: [null] }, found: 'has no list "keys"' },
  { document: { '4f43c3': '-----BEGIN CERTIFICATE-----' }, found: 'has no list "keys"' },
  { document: shown, found: 'has a single key' },
  { document: { issuer: 'https://a', jwks_uri: 'https://a/jwks' }, found: 'is metadata and no key set' },
])('a document that is no key set is refused: $found', ({ document, found }) => {
  expect(() => readKeys('https://a/jwks', document)).toThrow(`https://a/jwks ${found}`);
});
