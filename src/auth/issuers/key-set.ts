import {
  type CompactVerifyGetKey,
  type JSONWebKeySet,
  compactVerify,
  createRemoteJWKSet,
  customFetch,
  errors,
} from 'jose';
import { fetchJson } from './fetch-json.js';

/** Asymmetric algorithms only (RFC 8725 section 3.1). With a MAC the verifier could create signatures, and a public key could be used as the secret. */
export const ALGORITHMS =
  'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');

/** The keys of an issuer. There may be none: an issuer can withdraw all of its keys. */
export interface KeySet {
  readonly jwks: JSONWebKeySet;
  /** Selects the key that the header of a token names: a public one, for signatures, of 2048 bits or more (RSA). */
  readonly select: CompactVerifyGetKey;
}

/** Fetches a key set. jose does not do it by itself: its cooldown does not pause after a failure, and delays a rotation after any other fetch. */
export async function fetchKeySet(address: string): Promise<KeySet> {
  const select = createRemoteJWKSet(new URL(address), {
    cacheMaxAge: Infinity,
    cooldownDuration: Infinity,
    [customFetch]: async () => Response.json(await fetchJson(address)),
  });
  await select.reload();
  return { jwks: select.jwks() ?? { keys: [] }, select };
}

/** Whether one of the keys verifies the signature. Nothing else of the token is checked. */
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
