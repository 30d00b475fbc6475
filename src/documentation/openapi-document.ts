import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { IssuerMetadata } from '../auth/issuers/discovery.js';
import type { Configuration } from '../configuration/configuration.js';
import { version } from '../telemetry/version.js';

interface BearerScheme {
  readonly type: string;
  readonly description: string;
}

/** The parts of openapi.yaml that are read to make the document. */
interface OpenApiDocument {
  readonly info: object;
  readonly components: { readonly securitySchemes: { readonly accessToken: BearerScheme } };
}

const CONTRACT = parse(readFileSync(new URL('openapi.yaml', import.meta.url), 'utf8')) as OpenApiDocument;

/**
 * Makes the OpenAPI document: the contract as it stands in openapi.yaml, with what only a running service knows.
 * @param issuer the metadata of the first issuer; undefined until they are known, and where the issuer publishes none
 */
export function openApiDocument(configuration: Configuration, issuer: IssuerMetadata | undefined): object {
  const { baseAddress, OAUTH_REQUIRED_SCOPE: requiredScope } = configuration;
  const { info, components } = CONTRACT;
  const { securitySchemes } = components;
  const accessToken = accessTokenScheme(securitySchemes.accessToken, issuer, requiredScope);
  return {
    ...CONTRACT,
    info: { ...info, version },
    servers: [{ url: baseAddress || '/' }],
    security: [{ apiKey: [], accessToken: requiredScope ? [requiredScope] : [] }],
    components: { ...components, securitySchemes: { ...securitySchemes, accessToken } },
  };
}

/**
 * The scheme of the token. Without a token endpoint of the issuer it stays `bearer`: Swagger UI sends secrets to that
 * endpoint, so it is never guessed.
 */
function accessTokenScheme(bearer: BearerScheme, issuer: IssuerMetadata | undefined, requiredScope: string): object {
  if (issuer?.token_endpoint === undefined) return bearer;
  return {
    type: 'oauth2',
    description: bearer.description,
    flows: flowsOf(issuer, issuer.token_endpoint, requiredScope),
  };
}

function flowsOf(issuer: IssuerMetadata, tokenUrl: string, requiredScope: string): object {
  const { authorization_endpoint: authorizationUrl, scopes_supported: supported } = issuer;
  const required = requiredScope
    ? {
        [requiredScope]: 'Needed for all operations. Select no scope if the issuer grants it as a role.',
      }
    : {};
  const clientCredentials = { tokenUrl, scopes: required };
  if (authorizationUrl === undefined) return { clientCredentials };
  // If no scope is required, a person asks for openid: many issuers grant a person nothing if no scope is requested
  const asksForOpenid = !requiredScope && supported?.includes('openid');
  const scopesOfPerson = asksForOpenid ? { openid: 'Sign in. The service requires no scope.' } : required;
  const authorizationCode = { authorizationUrl, tokenUrl, scopes: scopesOfPerson };
  return { authorizationCode, clientCredentials };
}
