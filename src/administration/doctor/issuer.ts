import { type JSONWebKeySet, createLocalJWKSet, jwtVerify } from 'jose';
import { hasScope } from '../../auth/access-tokens/access-token.js';
import { decodeToken, faultsOf } from '../../auth/access-tokens/token-faults.js';
import { discover } from '../../auth/issuers/discovery.js';
import { fetchJson } from '../../auth/issuers/fetch-json.js';
import { keySetOf } from '../../auth/issuers/key-set.js';
import type { Configuration } from '../../configuration/configuration.js';
import { describe } from '../../telemetry/repeated-failure.js';
import { type Finding, fault, ok } from './finding.js';

/** Usable keys of each issuer whose keys can be fetched. */
export type KeySets = Map<unknown, JSONWebKeySet>;
const ASK = 'Ask the issuer for an access token of OAUTH_AUDIENCE, and copy all of it.';

export async function examineIssuer(
  name: string,
  configuration: Configuration,
  keySets: KeySets,
): Promise<Finding> {
  const { HTTPS_PROXY, https_proxy = HTTPS_PROXY, NODE_USE_ENV_PROXY } = process.env;
  try {
    const address = configuration.OAUTH_JWKS_URI || (await discover(name, configuration)).jwks_uri;
    const { jwks } = await keySetOf(await fetchJson(address));
    keySets.set(name, jwks);
    const said = `${name}: ${jwks.keys.length} signing keys at ${address}`;
    return jwks.keys.length > 0 ? ok(said) : fault(said, 'It has to publish keys (RFC 7517).');
  } catch (error) {
    return https_proxy && NODE_USE_ENV_PROXY !== '1'
      ? fault(describe(error), 'Node.js ignores HTTPS_PROXY: set NODE_USE_ENV_PROXY=1.')
      : fault(describe(error), 'Check OAUTH_ISSUER and the way to it: DNS, proxy, certificate.');
  }
}

/** Why a token passes or does not, in one sentence. The service itself never tells a caller. */
export async function examineToken(
  token: string,
  configuration: Configuration,
  keySets: KeySets,
): Promise<Finding> {
  const decoded = decodeToken(token);
  if (!decoded)
    return fault(`it is no signed JWT of 3 parts: ${token.split('.').length} parts`, ASK);
  const { header, claims } = decoded;
  const { alg, typ, kid } = header;
  const { iss, aud, exp = 0, nbf, iat } = claims;
  const held = JSON.stringify({ alg, typ, kid, iss, aud, exp: claims.exp, nbf, iat }).slice(0, 500);
  const [reason] = faultsOf(decoded, configuration, Date.now() / 1000);
  if (reason) return fault(`refused for the reason "${reason}": it holds ${held}`, ASK);
  const jwks = keySets.get(iss);
  if (!jwks) return fault('the keys of its issuer cannot be fetched', ASK);
  try {
    await jwtVerify(token, createLocalJWKSet(jwks));
  } catch (error) {
    return fault(`its signature is not one of its issuer: ${describe(error)}: ${held}`, ASK);
  }
  const { OAUTH_REQUIRED_SCOPE: scope } = configuration;
  return scope === '' || hasScope(claims, scope)
    ? ok(`it passes until ${new Date(exp * 1000).toISOString()}`)
    : fault(`it lacks the scope ${scope}: 403`, ASK);
}
