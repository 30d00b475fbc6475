import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { Configuration } from '../../configuration/configuration.js';
import { LIMITS } from '../../problems/limits.js';
import type { ProblemRenderer } from '../../problems/problem-details.js';
import type { ProblemSlug } from '../../problems/problem-types.js';
import { problemResponses } from './problem-responses.js';
import { RATE_LIMIT, REQUEST_ID, text } from './response-headers.js';
import { schemas } from './schemas.js';
import { VERSION } from './version.js';

const DESCRIPTION = `Three read-only lookups: which codes an order may hold.

- **Credentials**: every operation needs both headers, \`Api-Key\` and \`Authorization\` (\`Bearer <token>\` or the bare token).
- **Order**: properties, values and records always come in the same order, byte for byte the same on every replica.
- **Filters** match exactly and case-sensitively, without trimming; both together mean AND. A filter that is unknown, empty, repeated or broken is refused, never dropped.
- **Caching**: the strong ETag changes with the content alone. Ask with If-None-Match: 304 costs nothing.
- **Errors** are problem documents (RFC 9457) with a request id; each type has a page that explains it.
- **Limits**: target ${LIMITS.target}, headers ${LIMITS.headers} and ${LIMITS.headerLines}, filters ${LIMITS.filter}, no body. There is no rate limit unless the operator sets one.`;

const NOT_HERE: readonly ProblemSlug[] = ['not-found', 'request-timeout'];
const QUERY_PROBLEMS: readonly ProblemSlug[] = ['invalid-query'];
const METHODS: readonly ProblemSlug[] = ['method-not-allowed'];

/** The OpenAPI 3.1 document of the API. OpenApiService adds the addresses of the issuer when they are known. */
export function createOpenApiDocument(
  app: INestApplication,
  { BASE_PATH, serverAddress, OAUTH_ISSUER: [issuer = ''], OAUTH_REQUIRED_SCOPE }: Configuration,
  problems: ProblemRenderer,
): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Order Lookup Services')
    .setVersion(VERSION)
    .setDescription(DESCRIPTION)
    .addServer(serverAddress || '/')
    .addTag('order update', 'Supported values of the order update area')
    .addTag('order capture', 'Supported values of the order capture area, version 2')
    .addTag('order scheduling', 'Communication codes of the order scheduling area')
    .addApiKey(
      {
        type: 'apiKey',
        in: 'header',
        name: 'Api-Key',
        description:
          "Subscription key, obtained from the caller's profile in the developer portal.",
      },
      'apiKey',
    )
    .addOAuth2(
      {
        type: 'oauth2',
        description:
          'Access token of the OAuth 2.0 provider: a JWT, checked by RFC8725. Authorization code grant with PKCE.',
        flows: {
          authorizationCode: {
            authorizationUrl: issuer,
            tokenUrl: issuer,
            scopes: OAUTH_REQUIRED_SCOPE
              ? { [OAUTH_REQUIRED_SCOPE]: 'Needed for all operations' }
              : {},
          },
        },
      },
      'accessToken',
    );
  const document = SwaggerModule.createDocument(app, builder.build(), {
    ignoreGlobalPrefix: BASE_PATH === '',
  });
  for (const [path, item] of Object.entries(document.paths)) {
    if (!item.get) continue;
    const takesQuery = path.endsWith('communication-codes');
    const headers = { ETag: text('Changes with the content alone'), 'X-Request-Id': REQUEST_ID };
    Object.assign(
      item.get.responses,
      { 200: { ...item.get.responses['200'], headers: { ...headers, ...RATE_LIMIT } } },
      { 304: { description: 'Not Modified: the caller has this representation already', headers } },
      problemResponses(problems, [...NOT_HERE, ...METHODS, ...(takesQuery ? [] : QUERY_PROBLEMS)]),
    );
    item.get.security = [
      { apiKey: [], accessToken: OAUTH_REQUIRED_SCOPE ? [OAUTH_REQUIRED_SCOPE] : [] },
    ];
  }
  const license = { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' }; // SPDX, since OpenAPI 3.1
  return {
    ...document,
    info: { ...document.info, license },
    components: { ...document.components, schemas },
  };
}
