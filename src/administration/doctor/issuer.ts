import { discover } from '../../auth/issuers/discovery.js';
import { fetchJson } from '../../auth/issuers/fetch-json.js';
import { countSigningKeys, toSigningKeys } from '../../auth/issuers/issuer.js';
import type { Configuration } from '../../configuration/configuration.js';
import { type Finding, fault, ok } from './finding.js';

export const ISSUER_REMEDY =
  'OAUTH_ISSUER has to be exactly its iss; if its metadata is elsewhere, set OAUTH_JWKS_URI. ' +
  'Check the way to it: Node.js ignores HTTPS_PROXY without NODE_USE_ENV_PROXY=1.';

/** The keys of an issuer, fetched now, as the service fetches them. */
export async function fetchKeysOf(issuer: string, configuration: Configuration) {
  const index = configuration.OAUTH_ISSUER.indexOf(issuer);
  const address = configuration.OAUTH_JWKS_URI[index] || (await discover(issuer, configuration)).jwks_uri;
  return { address, keys: toSigningKeys(await fetchJson(address)) };
}

export async function examineIssuer(issuer: string, configuration: Configuration): Promise<Finding> {
  const { address, keys } = await fetchKeysOf(issuer, configuration);
  const keyCount = countSigningKeys(keys.document);
  const text = `${issuer}: ${keyCount} signing keys at ${address}`;
  return keyCount > 0 ? ok(text) : fault(text, 'It has to publish keys (RFC 7517).');
}
