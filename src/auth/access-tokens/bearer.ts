import { type Verdict, missing, refused } from '../verdict.js';

/** Longest token that is accepted, in bytes. */
const MAX_TOKEN_BYTES = 8 * 1024;
/** A JWS in its compact form (RFC 7515 section 7.1): three parts of base64url, none of them empty. */
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * The token of an Authorization header: `Bearer <token>`, the scheme in upper or lower case, or the bare token, since the interface document says "Sent as
 * <ACCESS_TOKEN>". Node has removed the spaces and tabs around the value; anything else is part of it (RFC 9110 section 5.5).
 */
export function readBearer(authorization = ''): string | Verdict<never> {
  if (authorization === '' || authorization.toLowerCase() === 'bearer') return missing;
  const [, scheme, token = authorization] = /^([^ ]+) +(.*)$/s.exec(authorization) ?? [];
  if (scheme !== undefined && scheme.toLowerCase() !== 'bearer') return refused('scheme');
  return token.length <= MAX_TOKEN_BYTES && COMPACT.test(token) ? token : refused('malformed');
}
