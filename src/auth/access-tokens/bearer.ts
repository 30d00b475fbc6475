import { type Verdict, missing, refused } from '../verdict.js';

/** Longest token that is accepted, in bytes. */
const MAX_TOKEN_BYTES = 8 * 1024;

/**
 * The token of an Authorization header: `Bearer <token>`, the scheme in upper or lower case, or the bare token, since the interface document says "Sent as
 * <ACCESS_TOKEN>". Node has removed the spaces and tabs around the value; anything else is part of it (RFC 9110 section 5.5).
 */
export function readBearer(authorization = ''): string | Verdict<never> {
  if (authorization === '' || /^bearer$/i.test(authorization)) return missing;
  const [prefix = '', scheme = 'bearer'] = /^([^ ]+) +/.exec(authorization) ?? [];
  if (scheme.toLowerCase() !== 'bearer') return refused('scheme');
  const token = authorization.slice(prefix.length);
  return token.length <= MAX_TOKEN_BYTES ? token : refused('malformed');
}
