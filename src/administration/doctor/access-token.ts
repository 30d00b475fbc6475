import { type JSONWebKeySet, createLocalJWKSet } from 'jose';
import {
  MAX_TOKEN_BYTES,
  type DecodedToken,
  decodeToken,
  faultOf,
  hasScope,
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
  text: string,
  configuration: Configuration,
): Promise<Finding> {
  const decoding = decodeToken(text);
  if (!decoding.isDecoded) return fault(describeForm(text), REMEDY_OF_REASON[decoding.reason]);
  const { token } = decoding;
  const held = describeMembers(token);
  const reason = faultOf(token, configuration);
  if (reason) return fault(`refused for the reason "${reason}": ${held}`, REMEDY_OF_REASON[reason]);

  const check = await checkSignature(text, String(token.claims.iss), configuration);
  if (check === 'no-keys')
    return ok('its signature was not checked: there are no keys of its issuer');
  if (check === 'signature') return fault(`no key of its issuer verifies its signature: ${held}`);
  if (check === 'claims') return fault(`a claim has a wrong form: ${held}`);
  const { OAUTH_REQUIRED_SCOPE: scope } = configuration;
  if (scope && !hasScope(token.claims, scope)) return fault(`it lacks the scope ${scope}: 403`);
  const expiry = new Date(Number(token.claims.exp) * 1000);
  return ok(`it passes until ${expiry.toISOString()}`);
}

async function checkSignature(
  text: string,
  issuer: string,
  configuration: Configuration,
): Promise<TokenCheck | 'no-keys'> {
  let keySet: JSONWebKeySet;
  try {
    ({ keySet } = await fetchKeysOf(issuer, configuration));
  } catch {
    return 'no-keys'; // the examination of the issuer says why
  }
  const audiences = configuration.OAUTH_AUDIENCE;
  return verifyToken(text, createLocalJWKSet(keySet), { issuer, audiences });
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
