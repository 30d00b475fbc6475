import { isLoopback } from './loopback.js';

interface Setting {
  readonly OAUTH_ALLOW_HTTP: boolean;
}

/** Whether signing keys may come from an address: anyone on the way of plain http could replace them. */
export function isKeyAddress(text: string, { OAUTH_ALLOW_HTTP }: Setting): boolean {
  if (!URL.canParse(text) || text.includes('@') || text.includes('#')) return false;
  const { protocol, hostname } = new URL(text);
  if (protocol === 'https:') return true;
  return protocol === 'http:' && (OAUTH_ALLOW_HTTP || isLoopback(hostname));
}

/** Whether the metadata of an issuer may be read. Other issuers are only names (RFC 8414 section 2: no query). */
export function isIssuerAddress(text: string, setting: Setting): boolean {
  return isKeyAddress(text, setting) && !text.includes('?');
}
