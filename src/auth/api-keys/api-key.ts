// An API key is `ols_`, by which secret scanners recognise it, 256 random bits in base64url (43 characters), and 6 characters of checksum, which
// tell a mistyped key from an unknown one. Only its SHA-256 is stored: a slow hash would not protect 256 random bits better.
import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

export const API_KEY_PREFIX = 'ols_';
const CHECKSUM_LENGTH = 6;

const checksum = (text: string): string =>
  crc32(text).toString(36).padStart(7, '0').slice(-CHECKSUM_LENGTH);

/** 53 characters of `[A-Za-z0-9_-]`, to be shown once. */
export function generateApiKey(): string {
  const secret = API_KEY_PREFIX + randomBytes(32).toString('base64url');
  return secret + checksum(secret);
}

/** A key without our prefix (taken over from another system) has no checksum. */
export function hasValidChecksum(key: string): boolean {
  const isOurs = key.startsWith(API_KEY_PREFIX);
  return !isOurs || checksum(key.slice(0, -CHECKSUM_LENGTH)) === key.slice(-CHECKSUM_LENGTH);
}

/** SHA-256 of the key in lower-case hex; `api_key.key_hash` holds it as bytes. */
export const hashApiKey = (key: string): string => hash('sha256', key, 'hex');
