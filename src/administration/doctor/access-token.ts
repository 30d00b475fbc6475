import { MAX_TOKEN_BYTES, type ReadToken, hasScope, readToken } from '../../auth/access-token.js';
import { verifyToken } from '../../auth/access-tokens.service.js';
import { ALGORITHMS, type SigningKeys } from '../../auth/issuers/issuer.js';
import type { RefusalReason } from '../../auth/verdict.js';
import type { Configuration } from '../../configuration/configuration.js';
import { type Finding, fault, ok, warning } from './finding.js';
import { fetchKeysOf } from './issuer.js';

/** For every reason that has no remedy of its own. */
export const ACCESS_TOKEN_REMEDY = 'Ask the issuer for an access token of OAUTH_AUDIENCE, and copy all of it.';

/** By the reason of the refusal, where to ask for another token would not help, or not be enough. */
const REMEDY_OF_REASON: Readonly<Record<string, string>> = {
  'too-long': 'Have the issuer put less into it, such as fewer groups.',
  'not-a-jwt': 'Have the issuer give signed JWTs for OAUTH_AUDIENCE: docs/identity-providers.md says what to set.',
  algorithm: `Have the issuer sign access tokens by one of ${ALGORITHMS.join(', ')}.`,
  critical: 'Have the issuer leave crit and b64 out of the header.',
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
  const read = readToken(text);
  if (read.outcome !== 'accepted') return fault(describeForm(text, read.reason), REMEDY_OF_REASON[read.reason]);
  const token = read.value;
  const issuer = configuration.OAUTH_ISSUER.find((name) => name === token.claims.iss);
  if (issuer === undefined) return refusal('issuer', token);
  const keys = await findKeys(issuer, configuration);
  if (keys === undefined) return warning(NOT_CHECKED, NOT_CHECKED_REMEDY);
  const verdict = await verifyToken(token, keys, issuer, configuration);
  if (verdict.outcome !== 'accepted') return refusal(verdict.reason, token);
  const { OAUTH_REQUIRED_SCOPE: scope } = configuration;
  if (scope && !hasScope(verdict.value, scope)) {
    return fault(
      `it lacks the scope ${scope}: 403`,
      `Have the issuer grant ${scope} to this client, and ask for it with the token.`,
    );
  }
  const expiry = new Date(verdict.value.exp * 1000);
  return ok(`it passes until ${expiry.toISOString()}`);
}

function refusal(reason: RefusalReason, token: ReadToken): Finding {
  if (reason === 'signature' || reason === 'unknown-key') {
    return fault(withMembers('no key of its issuer verifies its signature', token), SIGNATURE_REMEDY);
  }
  return fault(withMembers(`refused for the reason "${reason}"`, token), REMEDY_OF_REASON[reason]);
}

/** Undefined where they cannot be fetched: the examination of the issuer says why. */
async function findKeys(issuer: string, configuration: Configuration): Promise<SigningKeys | undefined> {
  try {
    const { keys } = await fetchKeysOf(issuer, configuration);
    return keys;
  } catch {
    return undefined;
  }
}

function describeForm(text: string, reason: RefusalReason): string {
  if (reason === 'critical') return 'its header has crit or b64';
  if (text.length > MAX_TOKEN_BYTES) {
    return `it has ${text.length} bytes; a token of at most ${MAX_TOKEN_BYTES} bytes is needed`;
  }
  const partCount = text.split('.').length;
  if (partCount !== 3) return `it has ${partCount} parts where a signed JWT of 3 parts is needed`;
  return 'its header or its claims are not JSON in base64url, as a JWT has it';
}

/** The text is cut: an issuer may write a list of any length into a claim. */
function withMembers(sentence: string, { header, claims }: ReadToken): string {
  const shown = { header: pick(header, SHOWN_OF_HEADER), claims: pick(claims, SHOWN_OF_CLAIMS) };
  return `${sentence}: it holds ${JSON.stringify(shown).slice(0, MAX_SHOWN_CHARACTERS)}`;
}

function pick(members: object, names: readonly string[]): Record<string, unknown> {
  const picked = Object.entries(members).filter(([name]) => names.includes(name));
  return Object.fromEntries(picked);
}
