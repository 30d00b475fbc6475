import {
  MAX_TOKEN_BYTES,
  type UnverifiedToken,
  decodeToken,
  faultOf,
  hasScope,
} from '../../auth/access-tokens/token-faults.js';
import { isSigned } from '../../auth/issuers/key-set.js';
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
  if ('reason' in decoded) return fault(describeForm(token), REMEDY_OF_REASON[decoded.reason]);
  const held = describeMembers(decoded);
  const reason = faultOf(decoded, configuration);
  if (reason) return fault(`refused for the reason "${reason}": ${held}`, REMEDY_OF_REASON[reason]);

  const { claims } = decoded;
  const signature = await examineSignature(token, String(claims.iss), configuration);
  if (signature === 'unknown')
    return ok('its signature was not checked: there are no keys of its issuer');
  if (signature === 'wrong') return fault(`no key of its issuer verifies its signature: ${held}`);
  const { OAUTH_REQUIRED_SCOPE: scope } = configuration;
  if (scope && !hasScope(claims, scope)) return fault(`it lacks the scope ${scope}: 403`);
  const expiry = new Date(Number(claims.exp) * 1000);
  return ok(`it passes until ${expiry.toISOString()}`);
}

async function examineSignature(
  token: string,
  issuer: string,
  configuration: Configuration,
): Promise<'right' | 'wrong' | 'unknown'> {
  let keys: Awaited<ReturnType<typeof fetchKeysOf>>;
  try {
    keys = await fetchKeysOf(issuer, configuration);
  } catch {
    return 'unknown'; // the examination of the issuer says why
  }
  return (await isSigned(token, keys.keySet)) ? 'right' : 'wrong';
}

function describeForm(token: string): string {
  const partCount = token.split('.').length;
  return (
    `it has ${partCount} parts and ${token.length} bytes; ` +
    `a signed JWT of 3 parts and at most ${MAX_TOKEN_BYTES} bytes is needed`
  );
}

function describeMembers({ header, claims }: UnverifiedToken): string {
  const members = JSON.stringify({ ...claims, ...header }, SHOWN_MEMBERS);
  return `it holds ${members.slice(0, MAX_SHOWN_CHARACTERS)}`;
}
