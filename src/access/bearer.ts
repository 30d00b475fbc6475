import { type Verdict, missing, refused } from './verdict.js';

/** Bytes of the longest token that is looked at. */
const MAX_TOKEN_BYTES = 8 * 1024;
/** RFC 6750 section 2.1: b64token. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/** The token of an Authorization header: `Bearer <token>`, the scheme in any case, or the bare token, since the interface document says "Sent as <ACCESS_TOKEN>". */
export function readBearer(authorization: string | undefined): string | Verdict<never> {
  const text = authorization?.trim() ?? '';
  if (text === '' || /^bearer$/i.test(text)) return missing;
  const space = text.indexOf(' ');
  if (space >= 0 && text.slice(0, space).toLowerCase() !== 'bearer') return refused('scheme');
  const token = text.slice(space + 1).trimStart();
  return token.length <= MAX_TOKEN_BYTES && TOKEN.test(token) ? token : refused('malformed');
}
