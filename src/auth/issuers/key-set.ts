import { isDeepStrictEqual } from 'node:util';
import { type JSONWebKeySet, type JWK, type JWTVerifyGetKey, createLocalJWKSet } from 'jose';
import { ALGORITHMS } from './verify-token.js';

/** The types of public keys for these algorithms (RFC 7518 section 6.1, RFC 8037 section 2). */
const PUBLIC_KEY_TYPES = ['RSA', 'EC', 'OKP'];

/**
 * The key set that an issuer published (RFC 7517 section 5). A key set is never changed, only replaced, so a token that
 * one key set has verified need not be verified again while its issuer has the same.
 */
export class KeySet {
  readonly document: JSONWebKeySet;
  /** jose's function that finds the keys which fit the header of a token. */
  readonly select: JWTVerifyGetKey;
  readonly keyIds: readonly string[];
  /** How many keys can verify a token. If there are none, every token is rejected. */
  readonly verifyingKeyCount: number;

  /** @throws JWKSInvalid if the document is no key set */
  constructor(document: unknown) {
    this.document = document as JSONWebKeySet;
    this.select = createLocalJWKSet(this.document); // checks the form
    const { keys } = this.document;
    this.keyIds = keys.map(({ kid }) => kid).filter((kid) => typeof kid === 'string');
    this.verifyingKeyCount = keys.filter(canVerify).length;
  }

  holds(keyId: string): boolean {
    return this.keyIds.includes(keyId);
  }

  isEqualTo(other: KeySet): boolean {
    return isDeepStrictEqual(this.document, other.document);
  }
}

/** Whether a key is meant for signatures that this service accepts. Its members come from elsewhere, in any form. */
function canVerify(key: JWK): boolean {
  const { kty, use, alg, key_ops: operations } = key as Record<string, unknown>;
  if (typeof kty !== 'string' || !PUBLIC_KEY_TYPES.includes(kty)) return false;
  if (use !== undefined && use !== 'sig') return false;
  if (operations !== undefined && !isListWith('verify', operations)) return false;
  return alg === undefined || (typeof alg === 'string' && ALGORITHMS.includes(alg));
}

function isListWith(member: string, list: unknown): boolean {
  return Array.isArray(list) && list.includes(member);
}
