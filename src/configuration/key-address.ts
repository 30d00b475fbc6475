type Setting = { readonly OAUTH_ALLOW_HTTP: boolean };

/** Whether signing keys may come from an address: anyone on the way of plain http could replace them. */
export function isKeyAddress(text: string, { OAUTH_ALLOW_HTTP }: Setting): boolean {
  if (!URL.canParse(text) || /[@#]/.test(text)) return false;
  const { protocol, hostname } = new URL(text);
  const isLoopback = /^(localhost|\[::1\]|127(\.\d+){3})$/.test(hostname);
  return protocol === 'https:' || (protocol === 'http:' && (OAUTH_ALLOW_HTTP || isLoopback));
}

/** Whether the metadata of an issuer may be read. Other issuers are only names (RFC 8414 section 2: no query). */
export const isIssuerAddress = (text: string, setting: Setting): boolean =>
  isKeyAddress(text, setting) && !text.includes('?');
