// An API key is `ols_`, 256 random bits in base64url (43 characters) and 6 characters of checksum. Secret scanners recognise leaked keys by the
// prefix. The checksum distinguishes a mistyped key from an unknown one. Only the SHA-256 of the key is stored: 256 random bits cannot be
// guessed, so a slow hash would not add protection.
import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

export const API_KEY_PREFIX = 'ols_';
const CHECKSUM_LENGTH = 6;

const checksum = (text: string): string =>
  crc32(text).toString(36).padStart(7, '0').slice(-CHECKSUM_LENGTH);

/** A new key, to be shown once: 53 characters of `[A-Za-z0-9_-]`. */
export function generateApiKey(): string {
  const secret = API_KEY_PREFIX + randomBytes(32).toString('base64url');
  return secret + checksum(secret);
}

/** Whether the checksum is right. A key without our prefix (taken over from another system) has no checksum. */
export function hasValidChecksum(key: string): boolean {
  const isOurs = key.startsWith(API_KEY_PREFIX);
  return !isOurs || checksum(key.slice(0, -CHECKSUM_LENGTH)) === key.slice(-CHECKSUM_LENGTH);
}

/** SHA-256 of the key in lower-case hex; `api_key.key_hash` holds it as bytes. */
export const hashApiKey = (key: string): string => hash('sha256', key, 'hex');
