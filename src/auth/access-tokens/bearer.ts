import { type Verdict, missing, refused } from '../verdict.js';

/** Bytes of the longest token that is looked at. */
const MAX_TOKEN_BYTES = 8 * 1024;

/** The token of an Authorization header: `Bearer <token>`, the scheme in any case, or the bare token, since the interface document says "Sent as <ACCESS_TOKEN>". */
export function readBearer(authorization: string | undefined): string | Verdict<never> {
  const text = authorization?.trim() ?? '';
  if (text === '') return missing;
  const space = text.indexOf(' ');
  if (space < 0 && text.length === 6 && text.toLowerCase() === 'bearer') return missing;
  if (space >= 0 && text.slice(0, space).toLowerCase() !== 'bearer') return refused('scheme');
  const token = text.slice(space + 1).trimStart();
  return token.length <= MAX_TOKEN_BYTES && !token.includes(' ') ? token : refused('malformed');
}
