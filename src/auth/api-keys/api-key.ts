import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

// An API key is a prefix, by which secret scanners recognise it, 256 random bits in base64url (43 characters), and a
// checksum, which tells a mistyped key from an unknown one. Only its SHA-256 is stored: a slow hash would not protect
// 256 random bits better.

export const API_KEY_PREFIX = 'ols_';
const SECRET_BYTES = 32;
const CHECKSUM_LENGTH = 6;

/** 53 characters of `[A-Za-z0-9_-]`, to be shown once. */
export function generateApiKey(): string {
  const secret = API_KEY_PREFIX + randomBytes(SECRET_BYTES).toString('base64url');
  return secret + checksumOf(secret);
}

/** A key without our prefix (taken over from another system) has no checksum. */
export function hasValidChecksum(key: string): boolean {
  if (!key.startsWith(API_KEY_PREFIX)) return true;
  return key.slice(-CHECKSUM_LENGTH) === checksumOf(key.slice(0, -CHECKSUM_LENGTH));
}

/** SHA-256 of the key in lower-case hex; `api_key.key_hash` holds it as bytes. */
export const hashApiKey = (key: string): string => hash('sha256', key, 'hex');

/** The last digits of the CRC-32 to the base 36. */
const checksumOf = (text: string): string =>
  crc32(text).toString(36).padStart(CHECKSUM_LENGTH, '0').slice(-CHECKSUM_LENGTH);
