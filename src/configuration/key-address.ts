import { isLoopback } from './loopback.js';

interface HttpSetting {
  readonly OAUTH_ALLOW_HTTP: boolean;
}

/** Returns whether signing keys may be fetched from an address. Over plain http, anybody could replace the keys. */
export function isKeyAddress(text: string, { OAUTH_ALLOW_HTTP }: HttpSetting): boolean {
  if (!URL.canParse(text) || text.includes('#')) return false;
  // A search for @ in the text would refuse Google's addresses, which have an @ in the path
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== '' || password !== '') return false; // the log would show them
  if (protocol === 'https:') return true;
  return protocol === 'http:' && (OAUTH_ALLOW_HTTP || isLoopback(hostname));
}

/** Returns whether an issuer's metadata can be fetched. An issuer with a query has no metadata (RFC 8414). */
export function isIssuerAddress(text: string, setting: HttpSetting): boolean {
  return isKeyAddress(text, setting) && !text.includes('?');
}
