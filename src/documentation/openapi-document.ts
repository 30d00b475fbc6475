import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { IssuerMetadata } from '../auth/issuers/discovery.js';
import type { Configuration } from '../configuration/configuration.js';
import { version } from '../telemetry/version.js';

interface TokenScheme {
  readonly type: string;
  readonly description: string;
  readonly flows?: object;
}

/** The fields that this file reads. A document has all fields of openapi.yaml. */
interface OpenApiDocument {
  readonly info: { readonly license: { readonly name: string }; readonly version: string };
  readonly servers: readonly { readonly url: string }[];
  readonly security: readonly object[];
  readonly paths: Readonly<Record<string, object>>;
  readonly components: { readonly securitySchemes: { readonly accessToken: TokenScheme } };
}

const CONTRACT = parse(readFileSync(new URL('openapi.yaml', import.meta.url), 'utf8')) as OpenApiDocument;

/** The paths that answer GET, without BASE_PATH. */
export const LOOKUP_PATHS = Object.keys(CONTRACT.paths).filter((path) => 'get' in (CONTRACT.paths[path] ?? {}));

/** @param issuer the metadata of the first issuer, where Swagger UI signs in; undefined if no metadata are known */
export function createOpenApiDocument(
  configuration: Configuration,
  issuer: IssuerMetadata | undefined,
): OpenApiDocument {
  const { baseAddress, OAUTH_REQUIRED_SCOPE: requiredScope } = configuration;
  const { info, components } = CONTRACT;
  const { securitySchemes } = components;
  const accessToken = createTokenScheme(securitySchemes.accessToken, issuer, requiredScope);
  return {
    ...CONTRACT,
    info: { ...info, version },
    servers: [{ url: baseAddress || '/' }],
    security: [{ accessToken: requiredScope ? [requiredScope] : [], apiKey: [] }],
    components: { ...components, securitySchemes: { ...securitySchemes, accessToken } },
  };
}

/**
 * Converts the document to OpenAPI 3.0.3, for gateways that know no other version. 3.0.3 has neither `const` nor the
 * `identifier` of a licence. It allows no scopes for a scheme of the type http.
 */
export function toOpenApi30(document: OpenApiDocument): object {
  const { info, components, security } = document;
  const hasScopes = components.securitySchemes.accessToken.type === 'oauth2';
  const converted = {
    ...document,
    openapi: '3.0.3',
    info: { ...info, license: { name: info.license.name } },
    security: hasScopes ? security : [{ accessToken: [], apiKey: [] }],
  };
  const text = JSON.stringify(converted, (_name, value: unknown) => replaceConst(value));
  return JSON.parse(text) as object;
}

/** Replaces `const: X` of a schema by `enum: [X]`. Returns any other value unchanged. */
function replaceConst(value: unknown): unknown {
  const isSchema = typeof value === 'object' && value !== null && 'const' in value;
  if (!isSchema) return value;
  const { const: only, ...schema } = value;
  return { ...schema, enum: [only] };
}

/**
 * Returns an oauth2 scheme if the issuer publishes its token endpoint, else the scheme `bearer`. Never guess the
 * endpoint, because Swagger UI sends secrets to it.
 */
function createTokenScheme(
  bearer: TokenScheme,
  issuer: IssuerMetadata | undefined,
  requiredScope: string,
): TokenScheme {
  if (issuer?.token_endpoint === undefined) return bearer;
  return {
    type: 'oauth2',
    description: bearer.description,
    flows: createFlows(issuer, issuer.token_endpoint, requiredScope),
  };
}

function createFlows(issuer: IssuerMetadata, tokenUrl: string, requiredScope: string): object {
  const { authorization_endpoint: authorizationUrl, scopes_supported: supported } = issuer;
  const required = requiredScope
    ? {
        [requiredScope]: 'Every operation needs this scope. If your issuer grants it as a role, select no scope.',
      }
    : {};
  const clientCredentials = { tokenUrl, scopes: required };
  if (authorizationUrl === undefined) return { clientCredentials };
  // If we require no scope, a person's sign-in asks for openid: many issuers grant nothing to a sign-in without a scope
  const needsOpenid = !requiredScope && supported?.includes('openid');
  const scopesForPersons = needsOpenid ? { openid: 'Sign in. The service requires no scope.' } : required;
  const authorizationCode = { authorizationUrl, tokenUrl, scopes: scopesForPersons };
  // First the grant with client id and secret, because Postman and Insomnia import only the first grant
  return { clientCredentials, authorizationCode };
}
