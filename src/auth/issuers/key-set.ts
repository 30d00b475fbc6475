import { type JSONWebKeySet, compactVerify, createLocalJWKSet, errors } from 'jose';
import { fetchJson } from './fetch-json.js';

/** Asymmetric algorithms only (RFC 8725 section 3.1). With a MAC the verifier could create signatures, and a public key could be used as the secret. */
export const ALGORITHMS =
  'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');

/**
 * There may be no keys: an issuer can withdraw all of them. `select` finds the keys that fit the header of a token: public ones, for signatures,
 * of 2048 bits or more (RSA), and of its key id, if it has one.
 * @throws Error if it is no key set (RFC 7517 section 5)
 */
export const keySetOf = (jwks: JSONWebKeySet) => ({ jwks, select: createLocalJWKSet(jwks) });
export type KeySet = Readonly<ReturnType<typeof keySetOf>>;

export const fetchKeySet = async (address: string): Promise<KeySet> =>
  keySetOf((await fetchJson(address)) as JSONWebKeySet);

/** Nothing but the signature is checked. */
export async function isSigned(token: string, { select }: KeySet): Promise<boolean> {
  const options = { algorithms: ALGORITHMS };
  try {
    await compactVerify(token, select, options);
    return true;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) return false;
    for await (const key of error)
      if (await compactVerify(token, key, options).catch(() => undefined)) return true;
    return false;
  }
}
