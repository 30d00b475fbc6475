import { isLoopback } from './loopback.js';

interface Setting {
  readonly OAUTH_ALLOW_HTTP: boolean;
}

/** Returns whether signing keys may be fetched from an address. Over plain http anybody could replace them. */
export function isKeyAddress(text: string, { OAUTH_ALLOW_HTTP }: Setting): boolean {
  if (!URL.canParse(text) || text.includes('#')) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== '' || password !== '') return false; // the log would show them. A path may have an @, as at Google
  if (protocol === 'https:') return true;
  return protocol === 'http:' && (OAUTH_ALLOW_HTTP || isLoopback(hostname));
}

/** Returns whether an issuer has metadata to fetch. Any other issuer is only a name: RFC 8414 allows no query. */
export function isIssuerAddress(text: string, setting: Setting): boolean {
  return isKeyAddress(text, setting) && !text.includes('?');
}
