import { type JWTVerifyGetKey, type JWTVerifyOptions, errors, jwtVerify } from 'jose';

/**
 * Asymmetric algorithms only (RFC 8725 section 3.1). With a MAC the verifier could create signatures, and a public key
 * could be used as the secret.
 */
export const ALGORITHMS: readonly string[] = [
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

/** Tolerated difference between clocks (RFC 7519 section 4.1.4). */
export const CLOCK_SKEW_SECONDS = 30;

/**
 * - `accepted`: a key verified the signature, and the claims are as they have to be.
 * - `claims`: a key verified the signature, and a claim is wrong.
 * - `signature`: no key verified it.
 */
export type TokenCheck = 'accepted' | 'claims' | 'signature';

export interface ExpectedClaims {
  readonly issuer: string;
  /** A token has to be for one of these audiences. The list is empty if the audience does not matter. */
  readonly audiences: readonly string[];
}

/**
 * Verifies signature and claims of a token with each key that fits its header.
 * @param keys jose's selector of a key set. It finds public keys for signatures. If the token has a key id, only keys
 *   of that id are found
 */
export async function verifyToken(token: string, keys: JWTVerifyGetKey, expected: ExpectedClaims): Promise<TokenCheck> {
  const options = optionsOf(expected);
  try {
    await jwtVerify(token, keys, options);
    return 'accepted';
  } catch (error) {
    // The token has no key id, or several keys have its id: the error of jose holds the keys that fit
    if (error instanceof errors.JWKSMultipleMatchingKeys) return verifyWithEach(token, error, options);
    return isFaultOfClaims(error) ? 'claims' : 'signature';
  }
}

/** @param candidates jose's error, which gives the keys one after another, without those that cannot be used */
async function verifyWithEach(
  token: string,
  candidates: errors.JWKSMultipleMatchingKeys,
  options: JWTVerifyOptions,
): Promise<TokenCheck> {
  for await (const key of candidates) {
    try {
      await jwtVerify(token, key, options);
      return 'accepted';
    } catch (error) {
      if (isFaultOfClaims(error)) return 'claims';
    }
  }
  return 'signature';
}

function optionsOf({ issuer, audiences }: ExpectedClaims): JWTVerifyOptions {
  return {
    algorithms: [...ALGORITHMS],
    issuer,
    audience: audiences.length > 0 ? [...audiences] : undefined,
    requiredClaims: ['exp'],
    clockTolerance: CLOCK_SKEW_SECONDS,
  };
}

/**
 * jose looks at the claims after the signature, so these errors say that a key has verified it. Whatever else jose
 * throws is about the keys: none fits, the signature is wrong, or a key cannot be used (some give a TypeError).
 */
function isFaultOfClaims(error: unknown): boolean {
  return (
    error instanceof errors.JWTClaimValidationFailed ||
    error instanceof errors.JWTExpired ||
    error instanceof errors.JWTInvalid
  );
}
