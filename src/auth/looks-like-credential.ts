import { API_KEY_PREFIX } from './api-keys/api-key.js';

/** The prefix of our keys, or the beginning of the header or claims of a JWT: `{"` in base64url. */
const CREDENTIAL = new RegExp(String.raw`(${API_KEY_PREFIX}|eyj)[\w-]{8}`, 'i');
const ENCODED = /%([0-9a-f]{2})/gi;
/** How often a text is percent-decoded. A text that is still encoded after that counts as a credential. */
const MOST_LAYERS = 4;

/**
 * Whether a text contains something that looks like a credential: at any position, in upper or lower case, percent-encoded or not, also in a
 * text whose encoding is broken.
 * @param own the API key of the request: a key that was taken over from another system can have any form
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
