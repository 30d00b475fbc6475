// Metadata by which a client finds the issuer (RFC 9728). It must name the address that clients use, so it exists only if PUBLIC_BASE_URL is
// set: the Host header is chosen by its sender.
import type { Configuration } from '../../configuration/configuration.js';

/** The well-known path; the path of the resource's own address follows it (section 3.1). */
export const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** The address of the metadata; undefined without PUBLIC_BASE_URL. */
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
