import {
  type CryptoKey,
  type JSONWebKeySet,
  type JWK,
  calculateJwkThumbprint,
  createLocalJWKSet,
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

/** The usable public keys of the issuer, from one fetch. */
export interface KeySet {
  readonly resolve: ReturnType<typeof createLocalJWKSet>;
  readonly jwks: JSONWebKeySet;
  readonly size: number;
  readonly kids: ReadonlySet<string>;
  /** Whether the key with this name is still in the set. */
  holds(name: string): boolean;
  /** The name of the key that a token's header selects. It identifies the key id and the key material. */
  nameOf(kid: string | undefined): string | undefined;
}

/**
 * Keeps the keys that can verify an access token: no symmetric or private keys, no keys for encryption, no RSA below 2048 bits, none that cannot be imported.
 * @throws Error if no usable key is left
 */
export async function keySetOf(document: unknown): Promise<KeySet> {
  const { keys } = (document ?? {}) as Partial<JSONWebKeySet>;
  if (!Array.isArray(keys))
    throw new Error('the document is not a JWK set (RFC 7517): it has no list of keys');
  const usable: JWK[] = [];
  for (const key of keys.slice(0, MAX_KEYS)) if (await isUsable(key)) usable.push(key);
  if (usable.length === 0)
    throw new Error(`none of the ${keys.length} keys of the set can verify a signature`);
  const names = new Map<string | undefined, string>();
  for (const key of usable)
    names.set(key.kid, `${key.kid ?? ''} ${await calculateJwkThumbprint(key)}`);
  const known = new Set(names.values());
  const only = usable.length === 1 ? [...known][0] : undefined;
  const jwks = { keys: usable };
  return {
    resolve: createLocalJWKSet(jwks),
    jwks,
    size: usable.length,
    kids: new Set(usable.flatMap(({ kid }) => (kid === undefined ? [] : [kid]))),
    holds: (name) => known.has(name),
    nameOf: (kid) => (kid === undefined ? only : names.get(kid)),
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
