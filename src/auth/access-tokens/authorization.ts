export type Authorization =
  | { readonly hasToken: true; readonly token: string }
  | { readonly hasToken: false; readonly reason: 'missing' | 'scheme' };

/**
 * Finds the token in the header Authorization: `Bearer` and the token (RFC 6750 section 2.1, the scheme in any case),
 * or the bare token, since the interface document says "Sent as <ACCESS_TOKEN>".
 * @param header as Node.js gives it, without blanks and tabs at both ends; undefined if it was not sent
 */
export function readAuthorization(header = ''): Authorization {
  const blankIndex = header.indexOf(' ');
  if (blankIndex === -1) {
    if (header === '' || isBearer(header)) return { hasToken: false, reason: 'missing' };
    return { hasToken: true, token: header };
  }
  const scheme = header.slice(0, blankIndex);
  if (!isBearer(scheme)) return { hasToken: false, reason: 'scheme' };
  const token = header.slice(blankIndex).replace(/^ +/, ''); // RFC 9110 section 11.4 allows several blanks
  return { hasToken: true, token };
}

function isBearer(scheme: string): boolean {
  return scheme.toLowerCase() === 'bearer';
}
