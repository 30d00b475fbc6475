import { type Issue, Problem } from '../../problems/problem.js';
import type { ProblemDetails, ProblemRenderer } from '../../problems/problem-details.js';
import { type ProblemSlug, problemTypes } from '../../problems/problem-types.js';

const EXAMPLE_ID = '7f0c5a0e-3f64-4c3b-9d5c-1f2e3d4c5b6a';
const EXAMPLE_TIME = '2026-11-21T09:30:00.000Z';

const issues: Partial<Record<ProblemSlug, Issue[]>> = {
  'invalid-query': [
    {
      description: 'codeType is empty: give a value or leave it out.',
      field: 'codeType',
      location: 'query',
      value: '',
    },
  ],
  'missing-credentials': [
    {
      description: 'Api-Key is missing: send your subscription key.',
      field: 'Api-Key',
      location: 'header',
    },
  ],
  'invalid-credentials': [
    {
      description: 'Authorization holds no valid access token.',
      field: 'Authorization',
      location: 'header',
    },
  ],
};

/** A problem document as the service would send it. */
export function exampleOf(slug: ProblemSlug, problems: ProblemRenderer): ProblemDetails {
  const problem = new Problem(slug, {
    detail: problemTypes[slug].meaning,
    issues: issues[slug] ?? [],
  });
  return {
    ...(JSON.parse(problems.answer(problem, EXAMPLE_ID).body) as ProblemDetails),
    dateTime: EXAMPLE_TIME,
  };
}
