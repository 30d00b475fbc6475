import { hasScope } from '../../auth/access-tokens/scopes.js';
import {
  type DecodedToken,
  MAX_TOKEN_BYTES,
  decodeToken,
  visibleFaultOf,
} from '../../auth/access-tokens/token-faults.js';
import { type TokenCheck, verifyToken } from '../../auth/issuers/verify-token.js';
import type { Configuration } from '../../configuration/configuration.js';
import { type Finding, fault, ok } from './finding.js';
import { fetchKeysOf } from './issuer.js';

export const ACCESS_TOKEN_REMEDY =
  'Ask the issuer for an access token of OAUTH_AUDIENCE, and copy all of it.';

/** Against the reasons that another token of the same issuer would have, too. */
const REMEDY_OF_REASON: Readonly<Record<string, string>> = {
  issuer: 'Ask an issuer of OAUTH_ISSUER for the token, or add its exact iss there.',
  client: 'If this client may call, add it to OAUTH_CLIENTS.',
  'too-long': 'Have the issuer put less into it, such as fewer groups.',
};

/** What may be shown of a token: nobody can call with it. */
const SHOWN_MEMBERS = [
  'alg',
  'typ',
  'kid',
  'iss',
  'aud',
  'client_id',
  'azp',
  'appid',
  'cid',
  'exp',
  'nbf',
  'iat',
];
const MAX_SHOWN_CHARACTERS = 500;

export async function examineAccessToken(
  token: string,
  configuration: Configuration,
): Promise<Finding> {
  const decoded = decodeToken(token);
  if (!decoded.isDecoded) return fault(describeForm(token), REMEDY_OF_REASON[decoded.reason]);
  const held = describeMembers(decoded.token);
  const reason = visibleFaultOf(decoded.token, configuration);
  if (reason) return fault(`refused for the reason "${reason}": ${held}`, REMEDY_OF_REASON[reason]);

  const { claims } = decoded.token;
  const check = await verify(token, String(claims.iss), configuration);
  if (check === undefined)
    return ok('its signature was not checked: there are no keys of its issuer');
  if (check === 'signature') return fault(`no key of its issuer verifies its signature: ${held}`);
  if (check === 'claims') return fault(`a claim has a wrong form: ${held}`);
  const { OAUTH_REQUIRED_SCOPE: scope } = configuration;
  if (scope && !hasScope(claims, scope)) return fault(`it lacks the scope ${scope}: 403`);
  const expiry = new Date(Number(claims.exp) * 1000);
  return ok(`it passes until ${expiry.toISOString()}`);
}

/** Undefined where its issuer gives no keys: the examination of the issuer says why. */
async function verify(
  token: string,
  issuer: string,
  configuration: Configuration,
): Promise<TokenCheck | undefined> {
  const { OAUTH_AUDIENCE: audiences } = configuration;
  let keys: Awaited<ReturnType<typeof fetchKeysOf>>;
  try {
    keys = await fetchKeysOf(issuer, configuration);
  } catch {
    return undefined;
  }
  return verifyToken(token, keys.keySet.select, { issuer, audiences });
}

function describeForm(token: string): string {
  const partCount = token.split('.').length;
  return (
    `it has ${partCount} parts and ${token.length} bytes; ` +
    `a signed JWT of 3 parts and at most ${MAX_TOKEN_BYTES} bytes is needed`
  );
}

function describeMembers({ header, claims }: DecodedToken): string {
  const members = JSON.stringify({ ...claims, ...header }, SHOWN_MEMBERS);
  return `it holds ${members.slice(0, MAX_SHOWN_CHARACTERS)}`;
}
