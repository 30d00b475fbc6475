// How a client that was refused finds the issuer (RFC 9728). The metadata has to name the address under which the client knows the service,
// so there is none where PUBLIC_BASE_URL does not say it: a Host header would let whoever sends it choose.
import type { Configuration } from '../../configuration/configuration.js';

/** Its place among the well-known addresses; what comes behind the host in the resource's own address follows (section 3.1). */
export const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** Where the metadata is; undefined where there is none. */
export function metadataAddress({ baseAddress }: Configuration): string | undefined {
  const [, origin, path] = /^(https?:\/\/[^/]+)(.*)$/i.exec(baseAddress) ?? [];
  return origin && `${origin}${WELL_KNOWN}${path}`;
}

/** Protected resource metadata (section 2). */
export const metadataOf = ({
  baseAddress,
  OAUTH_ISSUER,
  OAUTH_REQUIRED_SCOPE,
  DOCUMENTATION,
}: Configuration) => ({
  resource: baseAddress,
  authorization_servers: OAUTH_ISSUER,
  ...(OAUTH_REQUIRED_SCOPE ? { scopes_supported: [OAUTH_REQUIRED_SCOPE] } : {}),
  bearer_methods_supported: ['header'],
  resource_name: 'Order Lookup Services',
  ...(DOCUMENTATION === 'on' ? { resource_documentation: `${baseAddress}/docs` } : {}),
});
