import { type CryptoKey, type JSONWebKeySet, type JWK, type JWTVerifyGetKey, createLocalJWKSet } from 'jose';
import { IssuerFault } from './issuer-fault.js';

const RSA_ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
const CURVE_ALGORITHMS = ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];
/**
 * The accepted algorithms, all of them asymmetric (RFC 8725 section 3.1). Never add a MAC, such as HS256: with a MAC,
 * whoever can verify tokens can also sign tokens.
 */
export const ALGORITHMS: readonly string[] = [...RSA_ALGORITHMS, ...CURVE_ALGORITHMS];
/** The shortest RSA key whose signatures jose accepts (RFC 7518 section 3.3). */
const MIN_RSA_BITS = 2048;
export const NO_USABLE_KEY_REMEDY =
  `The issuer has to publish public keys for signatures: RSA of at least ${MIN_RSA_BITS} bits, ` +
  'EC (P-256, P-384, P-521) or Ed25519';
/** jose looks at every key for each token. A document of 1 MiB with 350,000 keys would block the process. */
const MAX_KEYS = 1_000;

/**
 * The keys that verify tokens (RFC 7517 section 5). The object is never changed, only replaced. AccessTokensService
 * verifies a remembered token again when the issuer has another object.
 */
export interface SigningKeys {
  readonly document: JSONWebKeySet;
  readonly find: JWTVerifyGetKey;
  /** The number of keys that can verify a token. If it is 0, every token is refused. */
  readonly usableCount: number;
}

/** @throws IssuerFault if the document of this address is no key set, or has too many keys */
export function readKeys(address: string, document: unknown): readonly JWK[] {
  const { keys, kty, jwks_uri: keySetAddress } = Object(document) as Record<string, unknown>;
  if (Array.isArray(keys) && keys.length > MAX_KEYS) {
    const remedy = 'Have the issuer publish only the keys of tokens that have not expired';
    throw new IssuerFault(`${address} has ${keys.length} keys; at most ${MAX_KEYS} are accepted`, remedy);
  }
  if (Array.isArray(keys) && keys.every(isObject)) return keys;
  if (keySetAddress !== undefined) {
    throw new IssuerFault(`${address} is metadata and no key set`, 'Set OAUTH_JWKS_URI to the jwks_uri in it');
  }
  const found = kty === undefined ? 'no list "keys" of objects' : 'a single key';
  const remedy = 'A key set (RFC 7517) is needed, {"keys":[{"kty":…}]}: correct the address, or the issuer';
  throw new IssuerFault(`${address} has ${found}`, remedy);
}

function isObject(value: unknown): value is JWK {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the members that decide whether a key can be used. None of them is secret. */
export function selectDecidingMembers({ kid, kty, use, key_ops, alg, crv }: JWK): Partial<JWK> {
  return { kid, kty, use, key_ops, alg, crv };
}

/** @param keys the result of `readKeys` */
export async function toSigningKeys(keys: readonly JWK[]): Promise<SigningKeys> {
  const areUsable = await Promise.all(keys.map(canVerify));
  const find = createLocalJWKSet({ keys: keys.map(removeEd25519Algorithm) });
  return { document: { keys: [...keys] }, find, usableCount: areUsable.filter(Boolean).length };
}

/**
 * Removes `alg` from an Ed25519 key. The algorithm has two names, `EdDSA` and `Ed25519` (RFC 9864). jose would refuse a
 * token with one name if the key has the other.
 */
function removeEd25519Algorithm(key: JWK): JWK {
  const { alg, ...others } = key;
  const isNameOfEd25519 = alg === 'EdDSA' || alg === 'Ed25519';
  return key.crv === 'Ed25519' && isNameOfEd25519 ? others : key;
}

async function canVerify(key: JWK): Promise<boolean> {
  const find = createLocalJWKSet({ keys: [key] });
  const algorithms = ALGORITHMS.filter((each) => key.alg === undefined || key.alg === each);
  for (const alg of algorithms) {
    try {
      const found = await find({ alg });
      if (isLongEnough(found)) return true;
    } catch {
      // jose does not use the key for this algorithm
    }
  }
  return false;
}

function isLongEnough({ algorithm }: CryptoKey): boolean {
  return !('modulusLength' in algorithm) || Number(algorithm.modulusLength) >= MIN_RSA_BITS;
}
