import { expect } from '@jest/globals';
import { problemTypes, type ProblemSlug } from '../../src/problems/problem-types.js';
import type { Reply } from './exchange.js';

export interface ProblemBody {
  readonly type: string;
  readonly status: number;
  readonly instance: string;
  readonly dateTime: string;
  readonly detail: string;
  readonly issues?: readonly {
    readonly description: string;
    readonly field: string;
    readonly location: string;
    readonly value?: string;
  }[];
}

/** The details that the service sends with each type of problem. */
const DETAILS: Readonly<Record<ProblemSlug, RegExp>> = {
  'malformed-request': oneOf(
    'A credential header was sent more than once, or contains a comma.',
    'The percent-encoding of the path is broken.',
    'The body is not valid JSON.',
    'The request breaks the rules of HTTP (RFC 9112), or has a method that the service does not know.',
  ),
  'invalid-query': /^(1 fault|\d+ faults|More than 20 faults) in the query\. Nothing was looked up\.$/,
  'missing-credentials': oneOf('The request lacks credentials. Both headers are needed: Api-Key and Authorization.'),
  'invalid-credentials': oneOf('The credentials of the request are not valid.'),
  'insufficient-scope': oneOf('The access token was not granted the scope that this service needs.'),
  'not-found': oneOf(
    'There is nothing at this address. Paths are case-sensitive and have no trailing slash.',
    'There is no such problem type.',
    'There is no such page.',
    'There are /health/live, /health/ready and /metrics.',
  ),
  'method-not-allowed': /^The methods of this address are [A-Z]+(, [A-Z]+)*\.$/,
  'request-timeout': oneOf('The request did not arrive in time.'),
  'headers-too-large': oneOf('The request target and the headers together have more than 16 KiB.'),
  'too-many-requests': /^The limit of \d+ requests a minute for this key is used up\.$/,
  'internal-error': oneOf(
    'An unexpected condition was met. The log has it under the id of this occurrence.',
    'The metrics cannot be collected.',
  ),
  'not-ready': /./, // the reasons, which test/management/health.spec.ts compares
  'cannot-verify-credentials': oneOf(
    'The list of API keys has not been read yet. The credentials may be valid.',
    'The list of API keys is too old. The credentials may be valid.',
    'No signing keys of the issuer are available. The credentials may be valid.',
    'The signing keys of the issuer could not be fetched. The credentials may be valid.',
  ),
};

/** Returns a pattern that only these texts match. */
function oneOf(...texts: readonly string[]): RegExp {
  const patterns = texts.map((text) => text.replaceAll(/[.()]/g, '\\$&'));
  return new RegExp(`^(${patterns.join('|')})$`);
}

/**
 * Asserts that a reply is a problem document with all members that the interface document demands of a problem.
 * @param detail the pattern of the detail, for a route whose problems have sentences of their own
 */
export function expectProblem(
  { status, headers, text }: Reply,
  slug: ProblemSlug,
  detail: RegExp = DETAILS[slug],
): ProblemBody {
  const { status: expectedStatus, title } = problemTypes[slug];
  expect({ status, type: headers.get('content-type') }).toEqual({
    status: expectedStatus,
    type: 'application/problem+json',
  });
  const body = JSON.parse(text) as ProblemBody;
  expect(body).toEqual({
    type: `/problems/${slug}`,
    title,
    status: expectedStatus,
    detail: expect.stringMatching(detail),
    instance: expect.stringMatching(/^urn:uuid:[0-9a-f-]{36}$/i),
    dateTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    ...(body.issues ? { issues: expect.anything() } : {}),
  });
  expect(body.instance).toBe(`urn:uuid:${headers.get('x-request-id')}`);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  for (const issue of body.issues ?? []) {
    expect(Object.keys(issue).filter((name) => name !== 'value')).toEqual(['description', 'field', 'location']);
  }
  return body;
}
