import type { ProtectedHeaderParameters } from 'jose';

const MAX_KEY_ID_LENGTH = 256;
/** Issuers use base64, URLs, DIDs and ARNs as key ids. */
const KEY_ID_CHARACTERS = /^[\w.~:/?#@!$&*+,=%()-]+$/;

/**
 * Says whether a token may be signed with a key that the issuer published since the last fetch. The issuer is not asked
 * for any other token: its key id is a path or SQL, or it brings a key of its own.
 * @param keySetAddress the address that some issuers name in their tokens
 */
export function mayBeOfNewKey(header: ProtectedHeaderParameters, keySetAddress: string | undefined): boolean {
  const { kid, jku, jwk, x5c, x5u } = header;
  if (jwk !== undefined || x5c !== undefined || x5u !== undefined) return false;
  if (jku !== undefined && jku !== keySetAddress) return false;
  return kid === undefined || canBeKeyId(kid);
}

function canBeKeyId(text: string): boolean {
  if (text.length > MAX_KEY_ID_LENGTH || text.includes('..')) return false;
  return KEY_ID_CHARACTERS.test(text);
}
