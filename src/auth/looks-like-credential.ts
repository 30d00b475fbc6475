import { API_KEY_PREFIX } from './api-keys/api-key.js';

/** The beginning of one of our keys, or of the header or claims of a JWT: `{"` in base64url. */
const CREDENTIAL = new RegExp(String.raw`(${API_KEY_PREFIX}|eyj)[\w-]{8}`, 'i');
const ENCODED = /%([0-9a-f]{2})/gi;
/** Times that a text may have been percent-encoded. One that was encoded more often is not shown, either. */
const MOST_LAYERS = 4;

/**
 * Whether a text that was sent where no credential belongs holds what looks like one: at any position, in any case, percent-encoded or not, and
 * beside encoding that is broken.
 * @param own the API key that the request carries: one that was taken over from another system may look like anything
 */
export function looksLikeCredential(text: string, own: string): boolean {
  let decoded = text;
  for (let layer = 0; layer <= MOST_LAYERS; layer++) {
    if (CREDENTIAL.test(decoded)) return true;
    if (own !== '' && decoded.toLowerCase().includes(own.toLowerCase())) return true;
    const next = decoded.replaceAll(ENCODED, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    if (next === decoded) return false;
    decoded = next;
  }
  return true;
}
