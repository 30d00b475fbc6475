import type { IssuerMetadata } from '../../auth/issuers/discovery.js';
import type { Configuration } from '../../configuration/configuration.js';
import { NEGOTIATED_FROM } from '../../http/answer.js';
import { LIMITS } from '../../problems/limits.js';
import type { ProblemRenderer } from '../../problems/problem-details.js';
import { version } from '../../telemetry/version.js';
import { OPERATIONS } from './operations.js';
import { responsesOf } from './responses.js';
import { schemas } from './schemas.js';

const DESCRIPTION = `Three read-only lookups: which codes an order may hold.

- **Credentials**: every operation needs both headers, \`Api-Key\` and \`Authorization\` (\`Bearer <token>\` or the bare token).
- **Order**: properties, values and records always come in the same order, byte for byte the same on every replica.
- **Filters** match exactly and case-sensitively, without trimming; both together mean AND. A filter that is unknown, empty, repeated or broken is refused and never ignored.
- **Caching**: the strong ETag changes with the content alone. Ask with If-None-Match: 304 has no body and does not count towards a rate limit.
- **Content coding**: communication codes of ${NEGOTIATED_FROM / 1024} KiB and more are also sent as gzip and br, by Accept-Encoding. Each coding has its own ETag; the tag of any of them gives 304. Range is ignored.
- **Errors** are problem documents (RFC 9457) with a request id; each type has a page that explains it. Programs compare the last segment of \`type\`.
- **Limits**: target ${LIMITS.target}, headers ${LIMITS.headers} and ${LIMITS.headerLines}, filters ${LIMITS.filter}, no body. There is no rate limit unless the operator sets one.`;

const description = 'The ETag of the answer that the caller has: 304 while it is current.';
const schema = { type: 'string', maxLength: 8_000 };
const IF_NONE_MATCH = { name: 'If-None-Match', in: 'header', required: false, description, schema };

/** @param issuer metadata of the first issuer, once it is known */
export function openApiDocument(
  { BASE_PATH, serverAddress, OAUTH_ISSUER, OAUTH_REQUIRED_SCOPE: scope }: Configuration,
  problems: ProblemRenderer,
  issuer: IssuerMetadata | undefined,
): object {
  const paths = OPERATIONS.map((operation) => {
    const { path, area, parameters, ok: _ok, schema: _schema, ...texts } = operation;
    const get = {
      ...texts,
      tags: [area],
      parameters: [...parameters, IF_NONE_MATCH],
      security: [{ apiKey: [], accessToken: scope ? [scope] : [] }],
      responses: responsesOf(operation, problems),
    };
    return [BASE_PATH + path, { get }] as const;
  });
  return {
    openapi: '3.1.0',
    info: {
      title: 'Order Lookup Services',
      version,
      description: DESCRIPTION,
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' }, // SPDX, since OpenAPI 3.1
    },
    servers: [{ url: serverAddress || '/' }],
    tags: OPERATIONS.map(({ area }) => ({ name: area, description: `The ${area} area` })),
    paths: Object.fromEntries(paths),
    components: {
      schemas,
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'Api-Key',
          description: 'Subscription key: the administrators of the service issue it.',
        },
        accessToken: {
          type: 'oauth2',
          description:
            'Access token of the OAuth 2.0 provider: a JWT. A person gets it by the authorization code grant with PKCE, a program by the client credentials grant.',
          flows: flows(OAUTH_ISSUER[0] ?? '', scope, issuer),
        },
      },
    },
  };
}

/** The address of the issuer stands for its endpoints while these are not known. An issuer may have none for persons. */
function flows(address: string, scope: string, issuer?: IssuerMetadata): object {
  const tokenUrl = issuer?.token_endpoint ?? address;
  const authorizationUrl = issuer ? issuer.authorization_endpoint : address;
  const needed = scope ? { [scope]: 'Needed for all operations; select none if it is a role' } : {};
  // Many issuers grant a person nothing if no scope is requested; every OpenID provider knows the scope openid
  const knowsOpenid = !scope && issuer?.scopes_supported?.includes('openid');
  const scopes = knowsOpenid ? { openid: 'Sign in; this service demands no scope' } : needed;
  return {
    ...(authorizationUrl && { authorizationCode: { authorizationUrl, tokenUrl, scopes } }),
    clientCredentials: { tokenUrl, scopes: needed },
  };
}
