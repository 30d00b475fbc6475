import { STATUS_CODES } from 'node:http';
import { groupBy } from '../../collections/group-by.js';
import type { ProblemRenderer } from '../../problems/problem-details.js';
import { type ProblemSlug, problemTypes } from '../../problems/problem-types.js';

const text = { type: 'string', maxLength: 1_024 };
const seconds = { type: 'integer', format: 'int32', minimum: 0, maximum: 60 };
const header = (description: string, schema: object = text) => ({ description, schema });
const HEADERS = {
  'X-Request-Id': header('Id of the request, the same as in our log', { ...text, format: 'uuid' }),
  ETag: header('Changes with the content and its content coding alone'),
  Vary: header('Accept-Encoding'),
  'Content-Encoding': header('gzip or br, if the caller accepts it'),
  'Retry-After': header('Seconds to wait', seconds),
  'WWW-Authenticate': header('A challenge for each scheme (RFC 9110, RFC 6750)'),
  // draft-ietf-httpapi-ratelimit-headers
  RateLimit: header('What is left for this key, where the operator set a limit'),
  'RateLimit-Policy': header('The limit of this key, where the operator set one'),
};
type Header = keyof typeof HEADERS;

/** Of an error, beside the id of the request. */
const ERROR_HEADERS: Readonly<Record<number, readonly Header[]>> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  429: ['RateLimit', 'RateLimit-Policy', 'Retry-After'],
  503: ['Retry-After'],
};
const ELSEWHERE: readonly ProblemSlug[] = ['not-found', 'request-timeout', 'method-not-allowed'];

/** The responses of an operation, by status; those of errors with an example of each of their problem types. */
export function responsesOf(
  { ok, schema, parameters }: { ok: string; schema: string; parameters: readonly object[] },
  problems: ProblemRenderer,
): Record<string, object> {
  const hasFilters = parameters.length > 0;
  const slugs = (Object.keys(problemTypes) as ProblemSlug[]).filter(
    (slug) => !ELSEWHERE.includes(slug) && (hasFilters || slug !== 'invalid-query'),
  );
  const byStatus = groupBy(slugs, (slug) => problemTypes[slug].status);
  byStatus.set(417, ['malformed-request']);
  const cached: Header[] = hasFilters ? ['ETag', 'Vary'] : ['ETag'];
  const coded: Header[] = hasFilters ? ['Content-Encoding'] : [];
  const found = headersOf([...cached, ...coded, 'RateLimit', 'RateLimit-Policy']);
  const content = { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } };
  const unchanged = 'Not Modified: the caller has this representation already';
  return {
    200: { description: ok, headers: found, content },
    304: { description: unchanged, headers: headersOf(cached) },
    ...Object.fromEntries([...byStatus].map(([at, of]) => [at, errorOf(at, of, problems)])),
  };
}

export function sampleOf(slug: ProblemSlug, problems: ProblemRenderer, as?: number): object {
  const { title, meaning: detail, status } = problemTypes[slug];
  const instance = 'urn:uuid:7f0c5a0e-3f64-4c3b-9d5c-1f2e3d4c5b6a';
  const dateTime = '2026-11-21T09:30:00.000Z';
  return { type: problems.typeOf(slug), title, status: as ?? status, detail, instance, dateTime };
}

function errorOf(status: number, slugs: readonly ProblemSlug[], problems: ProblemRenderer): object {
  const examples = slugs.map((slug) => {
    const value = sampleOf(slug, problems, status);
    return [slug, { summary: problemTypes[slug].title, value }] as const;
  });
  const schema = { $ref: '#/components/schemas/ProblemDetails' };
  return {
    description: `${STATUS_CODES[status]}: ${examples.map(([, { summary }]) => summary).join('; ')}`,
    headers: headersOf(ERROR_HEADERS[status] ?? []),
    content: { 'application/problem+json': { schema, examples: Object.fromEntries(examples) } },
  };
}

function headersOf(names: readonly Header[]): object {
  const all = ['X-Request-Id', ...names] as const;
  return Object.fromEntries(all.map((name) => [name, HEADERS[name]]));
}
