import type { ProtectedHeaderParameters } from 'jose';

const MAX_KEY_ID_LENGTH = 256;
/** Of base64, URLs, DIDs and ARNs, which are what issuers use. */
const KEY_ID_CHARACTERS = /^[\w.~:/?#@!$&*+,=%()-]+$/;

/**
 * Whether a token may be signed with a key that the issuer published since the last fetch. For others the issuer is not
 * asked: their key id is a path or SQL, or they bring a key of their own.
 * @param keySetAddress which some issuers name in their tokens
 */
export function mayBeOfNewKey(
  header: ProtectedHeaderParameters,
  keySetAddress: string | undefined,
): boolean {
  const { kid, jku, jwk, x5c, x5u } = header;
  if (jwk !== undefined || x5c !== undefined || x5u !== undefined) return false;
  if (jku !== undefined && jku !== keySetAddress) return false;
  return kid === undefined || canBeKeyId(kid);
}

function canBeKeyId(text: string): boolean {
  if (text.length > MAX_KEY_ID_LENGTH || text.includes('..')) return false;
  return KEY_ID_CHARACTERS.test(text);
}
