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

/** Asserts that a reply is a problem document with all members of the interface document. Returns the document. */
export function expectProblem({ status, headers, text }: Reply, slug: ProblemSlug): ProblemBody {
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
    detail: expect.stringMatching(/./),
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
