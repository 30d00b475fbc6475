import { STATUS_CODES } from 'node:http';
import type { Headers, ResponseObject } from './openapi-types.js';
import { type ProblemSlug, problemTypes } from '../../problems/problem-types.js';
import { type ProblemRenderer } from '../../problems/problem-details.js';
import { exampleOf } from './problem-example.js';
import { RATE_LIMIT, REQUEST_ID, RETRY_AFTER, text } from './response-headers.js';

const slugs = Object.keys(problemTypes) as ProblemSlug[];

/** The error responses of an operation, by status, each with its problem types and an example of each. */
export function problemResponses(
  problems: ProblemRenderer,
  without: readonly ProblemSlug[],
): Record<string, ResponseObject> {
  const used = slugs.filter((slug) => !without.includes(slug));
  const statuses = [...new Set(used.map((slug) => problemTypes[slug].status))];
  const byStatus = statuses.map((status): [string, ResponseObject] => [
    String(status),
    responseOf(
      status,
      used.filter((slug) => problemTypes[slug].status === status),
      problems,
    ),
  ]);
  return { ...Object.fromEntries(byStatus), 417: responseOf(417, ['malformed-request'], problems) };
}

function responseOf(
  status: number,
  slugsOfStatus: readonly ProblemSlug[],
  problems: ProblemRenderer,
): ResponseObject {
  return {
    description: `${STATUS_CODES[status]}: ${slugsOfStatus.map((slug) => problemTypes[slug].title).join('; ')}`,
    headers: {
      'X-Request-Id': REQUEST_ID,
      ...headersOf(status),
    },
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/ProblemDetails' },
        examples: Object.fromEntries(
          slugsOfStatus.map((slug) => [
            slug,
            { summary: problemTypes[slug].title, value: { ...exampleOf(slug, problems), status } },
          ]),
        ),
      },
    },
  };
}

function headersOf(status: number): Headers {
  if (status === 401 || status === 403)
    return { 'WWW-Authenticate': text('A challenge for each scheme (RFC 9110, RFC 6750)') };
  if (status === 429) return { ...RATE_LIMIT, 'Retry-After': RETRY_AFTER };
  if (status === 503) return { 'Retry-After': RETRY_AFTER };
  if (status === 405) return { Allow: text('The methods that are allowed') };
  return {};
}
