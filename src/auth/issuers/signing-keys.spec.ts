import { generateKeyPairSync } from 'node:crypto';
import { expect, it } from '@jest/globals';
import type { JWK } from 'jose';
import { readKeys, toSigningKeys } from './signing-keys.js';

const generateRsaKeys = (modulusLength: number) => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength });
  return { privateJwk: privateKey.export({ format: 'jwk' }), publicJwk: publicKey.export({ format: 'jwk' }) };
};
const { privateJwk, publicJwk } = generateRsaKeys(2_048);
const createEcJwk = (namedCurve: string) =>
  generateKeyPairSync('ec', { namedCurve }).publicKey.export({ format: 'jwk' });
const x25519 = generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' });
const ed25519 = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });

it.each([
  { what: 'a public key', key: publicJwk, count: 1 },
  { what: 'a key for signatures', key: { ...publicJwk, use: 'sig', key_ops: ['verify'], alg: 'RS256' }, count: 1 },
  { what: 'an EC key', key: createEcJwk('P-521'), count: 1 },
  { what: 'an Ed25519 key', key: ed25519, count: 1 },
  { what: 'a key of a curve that no accepted algorithm uses', key: createEcJwk('secp256k1'), count: 0 },
  { what: 'a key for key agreement', key: x25519, count: 0 },
  { what: 'a key for encryption', key: { ...publicJwk, use: 'enc' }, count: 0 },
  { what: 'a key with an algorithm for encryption', key: { ...publicJwk, alg: 'RSA-OAEP' }, count: 0 },
  { what: 'a key for other operations', key: { ...publicJwk, key_ops: ['wrapKey'] }, count: 0 },
  { what: 'an RSA key of 1024 bits', key: generateRsaKeys(1_024).publicJwk, count: 0 },
  { what: 'a private key', key: privateJwk, count: 0 },
  { what: 'a key whose numbers are damaged', key: { kty: 'RSA', n: '!', e: 'AQAB' }, count: 0 },
  { what: 'a shared secret', key: { kty: 'oct', k: 'AAAA' }, count: 0 },
  { what: 'a key whose members have wrong types', key: { kty: 7, use: {}, alg: [], key_ops: 'x' }, count: 0 },
])('$what gives $count keys that can verify a token', async ({ key, count }) => {
  const { usableCount } = await toSigningKeys([key as JWK]);
  expect(usableCount).toBe(count);
});

it.each([
  { document: undefined, found: 'has no list "keys"' },
  { document: null, found: 'has no list "keys"' },
  { document: [], found: 'has no list "keys"' },
  { document: { keys: 'x' }, found: 'has no list "keys"' },
  { document: { keys: [7] }, found: 'has no list "keys"' },
  { document: { keys: [null] }, found: 'has no list "keys"' },
  { document: { 'a-key-id': '-----BEGIN CERTIFICATE-----' }, found: 'has no list "keys"' },
  { document: publicJwk, found: 'has a single key' },
  { document: { issuer: 'https://a', jwks_uri: 'https://a/jwks' }, found: 'is metadata and no key set' },
  { document: { keys: Array(1_001).fill(publicJwk) }, found: 'has 1001 keys; at most 1000 are accepted' },
])('a document that is no key set, or has too many keys, is refused: $found', ({ document, found }) => {
  expect(() => readKeys('https://a/jwks', document)).toThrow(`https://a/jwks ${found}`);
});

it('a key set may have 1,000 keys', () => {
  expect(readKeys('https://a/jwks', { keys: Array(1_000).fill(publicJwk) })).toHaveLength(1_000);
});
