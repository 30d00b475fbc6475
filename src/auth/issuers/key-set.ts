import {
  type CryptoKey,
  type JSONWebKeySet,
  type JWK,
  calculateJwkThumbprint,
  importJWK,
} from 'jose';

/** Asymmetric algorithms only (RFC 8725 section 3.1). With a MAC the verifier could create signatures, and a public key could be used as the secret. */
export const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
/** The algorithm with which a key that names none is imported, by its curve. */
const DEFAULTS: Readonly<Record<string, string>> = {
  RSA: 'RS256',
  'P-256': 'ES256',
  'P-384': 'ES384',
  'P-521': 'ES512',
  Ed25519: 'EdDSA',
};
const MIN_RSA_BITS = 2048;
const MAX_KEYS = 100;

/** The usable public keys of an issuer, from one fetch. There may be none: an issuer can withdraw all of its keys. */
export interface KeySet {
  readonly jwks: JSONWebKeySet;
  readonly kids: ReadonlySet<string>;
  /** The thumbprints of the keys (RFC 7638). They identify the key material: key ids can be used again, or twice. */
  readonly thumbprints: ReadonlySet<string>;
}

/**
 * Keeps the keys that can verify an access token: no symmetric or private keys, no keys for encryption, no RSA below 2048 bits, none that cannot be imported.
 * @throws Error if the document is not a JWK set
 */
export async function keySetOf(document: unknown): Promise<KeySet> {
  const { keys: published } = (document ?? {}) as Partial<JSONWebKeySet>;
  if (!Array.isArray(published))
    throw new Error('the document is not a JWK set (RFC 7517): it has no list of keys');
  const keys: JWK[] = [];
  for (const key of published.slice(0, MAX_KEYS)) if (await isUsable(key)) keys.push(key);
  return {
    jwks: { keys },
    kids: new Set(keys.flatMap(({ kid }) => (kid === undefined ? [] : [kid]))),
    thumbprints: new Set(await Promise.all(keys.map((key) => calculateJwkThumbprint(key)))),
  };
}

async function isUsable(key: JWK): Promise<boolean> {
  if (typeof key !== 'object' || key === null) return false;
  const { kty, d, k, use, alg } = key;
  if (!['RSA', 'EC', 'OKP'].includes(String(kty)) || d !== undefined || k !== undefined)
    return false;
  if ((use !== undefined && use !== 'sig') || (alg !== undefined && !ALGORITHMS.includes(alg)))
    return false;
  try {
    const imported = (await importJWK(
      key,
      alg ?? DEFAULTS[kty === 'RSA' ? kty : String(key.crv)],
    )) as CryptoKey;
    const { modulusLength } = imported.algorithm as { modulusLength?: number };
    return (
      imported.type === 'public' && (modulusLength === undefined || modulusLength >= MIN_RSA_BITS)
    );
  } catch {
    return false;
  }
}
