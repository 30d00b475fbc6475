export type Authorization =
  | { readonly isToken: true; readonly token: string }
  | { readonly isToken: false; readonly reason: 'missing' | 'scheme' };

/**
 * The token of the header Authorization: `Bearer` and the token (RFC 6750 section 2.1, the scheme in any case), or the
 * bare token, since the interface document says "Sent as <ACCESS_TOKEN>".
 */
export function readAuthorization(header = ''): Authorization {
  const words = header.split(' ').filter((word) => word !== '');
  const [first = '', second] = words;
  const isBearer = first.toLowerCase() === 'bearer';
  if (words.length === 0 || (isBearer && second === undefined))
    return { isToken: false, reason: 'missing' };
  if (words.length === 1) return { isToken: true, token: first };
  if (!isBearer) return { isToken: false, reason: 'scheme' };
  return { isToken: true, token: words.slice(1).join(' ') }; // a blank inside is a fault of the token
}
