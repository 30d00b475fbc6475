import { STATUS_CODES } from 'node:http';
import type { ProblemRenderer } from '../../problems/problem-details.js';
import { type ProblemSlug, problemTypes } from '../../problems/problem-types.js';
import type { OPERATIONS } from './operations.js';
import { exampleOf } from './problem-examples.js';
import { groupBy } from '../../codes/group-by.js';

const text = (description: string): object => ({
  description,
  schema: { type: 'string', maxLength: 1_024 },
});
const requestId = {
  'X-Request-Id': {
    description: 'Id of the request, the same as in our log',
    schema: { type: 'string', format: 'uuid', maxLength: 36 },
  },
};
const etag = { ETag: text('Changes with the content and its content coding alone') };
/** Of the lists that have content codings. */
const vary = { Vary: text('Accept-Encoding') };
const contentEncoding = { 'Content-Encoding': text('gzip or br, if the caller accepts it') };
const retryAfter = {
  'Retry-After': {
    description: 'Seconds to wait',
    schema: { type: 'integer', format: 'int32', minimum: 0, maximum: 60 },
  },
};
/** draft-ietf-httpapi-ratelimit-headers */
const rateLimit = {
  RateLimit: text('What is left for this key, where the operator set a limit'),
  'RateLimit-Policy': text('The limit of this key, where the operator set one'),
};
const challenge = { 'WWW-Authenticate': text('A challenge for each scheme (RFC 9110, RFC 6750)') };

/** The header fields of an error, beside the id of the request. */
const ERROR_HEADERS: Readonly<Record<number, object>> = {
  401: challenge,
  403: challenge,
  429: { ...rateLimit, ...retryAfter },
  503: retryAfter,
};
/** Problem types that no operation answers with. */
const ELSEWHERE: readonly ProblemSlug[] = ['not-found', 'request-timeout', 'method-not-allowed'];

/** The responses of an operation, by status; those of errors with their problem types and an example of each. */
export function responsesOf(
  { ok, schema, parameters }: (typeof OPERATIONS)[number],
  problems: ProblemRenderer,
): Record<string, object> {
  const slugs = (Object.keys(problemTypes) as ProblemSlug[]).filter(
    (slug) => !ELSEWHERE.includes(slug) && !(slug === 'invalid-query' && parameters.length === 0),
  );
  const isCoded = schema === 'CommunicationCodeQueryResponse';
  const headers = { ...etag, ...requestId, ...(isCoded ? vary : {}) };
  const byStatus = groupBy(slugs, (slug) => problemTypes[slug].status);
  return {
    200: {
      description: ok,
      headers: { ...headers, ...(isCoded ? contentEncoding : {}), ...rateLimit },
      content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } },
    },
    304: {
      description: 'Not Modified: the caller has this representation already',
      headers,
    },
    417: errorResponse(417, ['malformed-request'], problems),
    ...Object.fromEntries(
      [...byStatus].map(([status, ofStatus]) => [
        status,
        errorResponse(status, ofStatus, problems),
      ]),
    ),
  };
}

const errorResponse = (
  status: number,
  slugs: readonly ProblemSlug[],
  problems: ProblemRenderer,
): object => ({
  description: `${STATUS_CODES[status]}: ${slugs.map((slug) => problemTypes[slug].title).join('; ')}`,
  headers: { ...requestId, ...ERROR_HEADERS[status] },
  content: {
    'application/problem+json': {
      schema: { $ref: '#/components/schemas/ProblemDetails' },
      examples: Object.fromEntries(
        slugs.map((slug) => [
          slug,
          { summary: problemTypes[slug].title, value: { ...exampleOf(slug, problems), status } },
        ]),
      ),
    },
  },
});
