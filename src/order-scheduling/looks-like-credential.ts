import { API_KEY_PREFIX } from '../auth/api-keys/api-key.js';

/** The prefix of our keys, or the beginning of the header or claims of a JWT: `{"` in base64url. */
const BEGINNING = new RegExp(String.raw`(${API_KEY_PREFIX}|eyj)[\w-]{8}`, 'i');
/** Base64url so long that the rest of a key or token could be guessed. Words of this length do not occur. */
const LONG_RUN = /[\w-]{32,}/g;
/** Of 32 random characters in one case, 21 are different on average, and fewer than 13 once in a million. */
const MANY = 13;
const ENCODED = /%([0-9a-f]{2})/gi;
/** How often a text is percent-decoded. A text that is still encoded after that counts as a credential. */
const MOST_LAYERS = 4;

/** Also finds a credential without its beginning or end, in another case, percent-encoded, or where the encoding of the rest is broken. */
export function looksLikeCredential(text: string, apiKey: string): boolean {
  let decoded = text.toLowerCase();
  for (let layer = 0; layer <= MOST_LAYERS; layer++) {
    if (BEGINNING.test(decoded) || hasRandomRun(decoded)) return true;
    if (apiKey !== '' && asInForms(decoded).includes(asInForms(apiKey.toLowerCase()))) return true;
    const next = decoded.replaceAll(ENCODED, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)).toLowerCase(),
    );
    if (next === decoded) return false;
    decoded = next;
  }
  return true;
}

const asInForms = (text: string): string => text.replaceAll('+', ' ');

const hasRandomRun = (text: string): boolean =>
  (text.match(LONG_RUN) ?? []).some((run) => new Set(run).size >= MANY);
