import { type JSONWebKeySet, createLocalJWKSet, jwtVerify } from 'jose';
import { decodeToken, faultOf, hasScope } from '../../auth/access-tokens/token-faults.js';
import { discover } from '../../auth/issuers/discovery.js';
import { fetchKeySet } from '../../auth/issuers/key-set.js';
import type { Configuration } from '../../configuration/configuration.js';
import { describe } from '../../telemetry/repeated-failure.js';

/** What a check found. All is right unless it names what to do: against a fault, which keeps the service from working, or a warning. */
export interface Finding {
  readonly said: string;
  readonly fault?: string;
  readonly warning?: string;
}

/** Usable keys of each issuer whose keys can be fetched. */
export type KeySets = Map<unknown, JSONWebKeySet>;

export async function examineIssuer(
  name: string,
  configuration: Configuration,
  keySets: KeySets,
): Promise<Finding> {
  try {
    const address = configuration.OAUTH_JWKS_URI || (await discover(name, configuration)).jwks_uri;
    const { jwks } = await fetchKeySet(address);
    keySets.set(name, jwks);
    const said = `${name}: ${jwks.keys.length} signing keys at ${address}`;
    return jwks.keys.length > 0 ? { said } : { said, fault: 'It has to publish keys (RFC 7517).' };
  } catch (error) {
    const { HTTPS_PROXY, https_proxy = HTTPS_PROXY, NODE_USE_ENV_PROXY } = process.env;
    const remedy =
      https_proxy && NODE_USE_ENV_PROXY !== '1'
        ? 'Node.js ignores HTTPS_PROXY: set NODE_USE_ENV_PROXY=1.'
        : 'Check OAUTH_ISSUER and the way to it: DNS, proxy, certificate.';
    return { said: describe(error), fault: remedy };
  }
}

/** Why a token passes or does not. The service itself never tells a caller. */
export async function examineToken(
  token: string,
  configuration: Configuration,
  keySets: KeySets,
): Promise<Finding> {
  const refused = (said: string): Finding => ({
    said,
    fault: 'Ask the issuer for an access token of OAUTH_AUDIENCE, and copy all of it.',
  });
  const decoded = decodeToken(token);
  if (!decoded) return refused(`it is no signed JWT of 3 parts: ${token.split('.').length} parts`);
  const { alg, typ, kid } = decoded.header;
  const { iss, aud, exp, nbf, iat } = decoded.claims;
  const held = JSON.stringify({ alg, typ, kid, iss, aud, exp, nbf, iat }).slice(0, 500);
  const reason = faultOf(decoded, configuration);
  if (reason) return refused(`refused for the reason "${reason}": it holds ${held}`);
  try {
    await jwtVerify(token, createLocalJWKSet(keySets.get(iss) ?? { keys: [] }));
  } catch (error) {
    return refused(`its signature is not one of its issuer: ${describe(error)}: ${held}`);
  }
  const { OAUTH_REQUIRED_SCOPE: scope } = configuration;
  return scope !== '' && !hasScope(decoded.claims, scope)
    ? refused(`it lacks the scope ${scope}: 403`)
    : { said: `it passes until ${new Date(Number(exp) * 1000).toISOString()}` };
}
