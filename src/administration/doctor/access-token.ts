import { hasScope } from '../../auth/access-tokens/scopes.js';
import {
  type DecodedToken,
  MAX_TOKEN_BYTES,
  decodeToken,
  visibleFaultOf,
} from '../../auth/access-tokens/token-faults.js';
import type { KeySet } from '../../auth/issuers/key-set.js';
import { ALGORITHMS, verifyToken } from '../../auth/issuers/verify-token.js';
import type { Configuration } from '../../configuration/configuration.js';
import { type Finding, fault, ok, warning } from './finding.js';
import { fetchKeysOf } from './issuer.js';

/** For every reason that has no remedy of its own. */
export const ACCESS_TOKEN_REMEDY = 'Ask the issuer for an access token of OAUTH_AUDIENCE, and copy all of it.';

/** By the reason of the refusal, where to ask for another token would not help, or not be enough. */
const REMEDY_OF_REASON: Readonly<Record<string, string>> = {
  'too-long': 'Have the issuer put less into it, such as fewer groups.',
  algorithm: `Have the issuer sign access tokens by one of ${ALGORITHMS.join(', ')}.`,
  critical: 'Have the issuer leave crit and b64 out of the header.',
  'key-id': 'Have the issuer name its key by a text (kid).',
  type: 'An access token has the typ at+jwt, JWT or none; where OAUTH_TOKEN_TYPE demands at+jwt, only that.',
  issuer: 'Ask an issuer of OAUTH_ISSUER for the token, or add its exact iss there.',
  client: 'If this client may call, add it to OAUTH_CLIENTS.',
  'another-kind': 'It is an ID, refresh or logout token. Send the access token that the issuer gave with it.',
  'no-expiry': 'Have the issuer write when it expires (exp), in seconds since 1970.',
  expired: 'Ask the issuer for another one.',
  'not-before': 'Compare the clocks of the issuer and of this machine.',
};
const SIGNATURE_REMEDY = 'Copy all of it, or ask the issuer for another one: its key may have been withdrawn.';
const NOT_CHECKED = 'its signature was not checked: there are no keys of its issuer';
const NOT_CHECKED_REMEDY = 'Correct the issuer first, then examine the token again.';

/** What is shown of a token. Nobody can call with it, and it names no person, as `sub` and `email` do. */
const SHOWN_OF_HEADER = ['alg', 'typ', 'kid'];
const SHOWN_OF_CLAIMS = [
  ...['iss', 'aud', 'client_id', 'azp', 'appid', 'cid', 'typ', 'token_use'],
  ...['exp', 'nbf', 'iat'],
];
const MAX_SHOWN_CHARACTERS = 500;

export async function examineAccessToken(text: string, configuration: Configuration): Promise<Finding> {
  const decoded = decodeToken(text);
  if (!decoded.isDecoded) return fault(describeForm(text), REMEDY_OF_REASON[decoded.reason]);
  const { token } = decoded;
  const reason = visibleFaultOf(token, configuration);
  if (reason !== undefined) {
    const refusal = withMembers(`refused for the reason "${reason}"`, token);
    return fault(refusal, REMEDY_OF_REASON[reason]);
  }
  const issuer = String(token.claims.iss);
  const keySet = await keySetOf(issuer, configuration);
  if (keySet !== undefined) {
    const { OAUTH_AUDIENCE: audiences } = configuration;
    const check = await verifyToken(text, keySet.select, { issuer, audiences });
    if (check === 'signature') {
      const refusal = withMembers('no key of its issuer verifies its signature', token);
      return fault(refusal, SIGNATURE_REMEDY);
    }
    if (check === 'claims') return fault(withMembers('a claim has a wrong form', token));
  }
  const { OAUTH_REQUIRED_SCOPE: scope } = configuration;
  if (scope && !hasScope(token.claims, scope)) {
    return fault(
      `it lacks the scope ${scope}: 403`,
      `Have the issuer grant ${scope} to this client, and ask for it with the token.`,
    );
  }
  if (keySet === undefined) return warning(NOT_CHECKED, NOT_CHECKED_REMEDY);
  const expiry = new Date(Number(token.claims.exp) * 1000);
  return ok(`it passes until ${expiry.toISOString()}`);
}

/** Undefined where they cannot be fetched: the examination of the issuer says why. */
async function keySetOf(issuer: string, configuration: Configuration): Promise<KeySet | undefined> {
  try {
    const { keySet } = await fetchKeysOf(issuer, configuration);
    return keySet;
  } catch {
    return undefined;
  }
}

function describeForm(text: string): string {
  if (text.length > MAX_TOKEN_BYTES) {
    return `it has ${text.length} bytes; a token of at most ${MAX_TOKEN_BYTES} bytes is needed`;
  }
  const partCount = text.split('.').length;
  if (partCount !== 3) return `it has ${partCount} parts where a signed JWT of 3 parts is needed`;
  return 'its header or its claims are not JSON in base64url, as a JWT has it';
}

/** The text is cut: an issuer may write a list of any length into a claim. */
function withMembers(sentence: string, { header, claims }: DecodedToken): string {
  const shown = { header: pick(header, SHOWN_OF_HEADER), claims: pick(claims, SHOWN_OF_CLAIMS) };
  return `${sentence}: it holds ${JSON.stringify(shown).slice(0, MAX_SHOWN_CHARACTERS)}`;
}

function pick(members: object, names: readonly string[]): Record<string, unknown> {
  const picked = Object.entries(members).filter(([name]) => names.includes(name));
  return Object.fromEntries(picked);
}
