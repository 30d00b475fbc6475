import { type JSONWebKeySet, createLocalJWKSet, jwtVerify } from 'jose';
import { hasScope } from '../../auth/access-tokens/access-token.js';
import { decodeToken, faultsOf } from '../../auth/access-tokens/token-faults.js';
import { discover } from '../../auth/issuers/discovery.js';
import { fetchJson } from '../../auth/issuers/fetch-json.js';
import { keySetOf } from '../../auth/issuers/key-set.js';
import type { TokenFault } from '../../auth/verdict.js';
import type { Configuration } from '../../configuration/configuration.js';
import { describe } from '../../telemetry/repeated-failure.js';
import { type Finding, fault, ok } from './finding.js';

/** Usable keys of each issuer whose keys can be fetched. */
export type KeySets = Map<unknown, JSONWebKeySet>;

export async function examineIssuer(
  name: string,
  configuration: Configuration,
  keySets: KeySets,
): Promise<Finding> {
  const address = configuration.OAUTH_JWKS_URI || (await discover(name, configuration)).jwks_uri;
  const { jwks, kids } = await keySetOf(await fetchJson(address));
  keySets.set(name, jwks);
  const found = `${name}: ${jwks.keys.length} signing keys (${[...kids].join(', ')}) at ${address}`;
  return jwks.keys.length > 0
    ? ok('issuer', found)
    : fault('issuer', found, 'It has to publish public signature keys (RFC 7517).');
}

const CLAIMS: Partial<
  Record<TokenFault, readonly [member: string, variable: keyof Configuration | '']>
> = {
  algorithm: ['alg', ''],
  'key-id': ['kid', ''],
  type: ['typ', 'OAUTH_TOKEN_TYPE'],
  issuer: ['iss', 'OAUTH_ISSUER'],
  audience: ['aud', 'OAUTH_AUDIENCE'],
  'no-expiry': ['exp', ''],
  expired: ['exp', ''],
  'not-before': ['nbf', ''],
  'issued-at': ['iat', ''],
};

/** Why a token passes or does not, in one sentence. The service itself never tells a caller. */
export async function examineToken(
  token: string,
  configuration: Configuration,
  keySets: KeySets,
): Promise<Finding> {
  const refused = (said: string): Finding =>
    fault(
      'access token',
      said,
      'Ask the issuer for an access token of OAUTH_AUDIENCE, and copy all of it.',
    );
  const decoded = decodeToken(token);
  if (!decoded)
    return refused(
      `it is no signed JWT: it has ${token.split('.').length} parts, or its parts are not JSON in base64url`,
    );
  const { header, claims } = decoded;
  const found = faultsOf(decoded, configuration, Date.now() / 1000).next().value;
  if (found) {
    const [member = '', variable = ''] = CLAIMS[found] ?? [];
    const value = JSON.stringify({ ...claims, ...header }[member])?.slice(0, 200) ?? 'missing';
    const date = /^\d+(\.\d+)?$/.test(value)
      ? ` (${new Date(Number(value) * 1000).toISOString()})`
      : '';
    return refused(
      `the service refuses it for the reason "${found}"${member ? `: its ${member} is ${value}${date}` : ''}${variable ? `, ${variable} is "${String(configuration[variable])}"` : ''}`,
    );
  }
  const jwks = keySets.get(claims.iss);
  if (!jwks) return refused('the keys of its issuer cannot be fetched');
  try {
    await jwtVerify(token, createLocalJWKSet(jwks));
  } catch (error) {
    return refused(
      `its signature cannot be verified with the keys of ${claims.iss}, its key id is ${JSON.stringify(header.kid)}: ${describe(error)}`,
    );
  }
  const { OAUTH_REQUIRED_SCOPE: scope } = configuration;
  return scope === '' || hasScope(claims, scope)
    ? ok('access token', `it passes until ${new Date((claims.exp ?? 0) * 1000).toISOString()}`)
    : refused(`it lacks the scope ${scope}: 403`);
}
