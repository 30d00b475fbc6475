import type { ProblemDetails, ProblemRenderer } from '../../problems/problem-details.js';
import type { ProblemSlug } from '../../problems/problem-types.js';
import replies from './problem-examples.json' with { type: 'json' };

/** Replies of the real program, with one id and one time, written by `npm run examples`. */
export const problemExamples = replies as Readonly<Record<ProblemSlug, ProblemDetails>>;

/** The example of a problem type, with the type as this service writes it (absolute if PUBLIC_BASE_URL is set). */
export const exampleOf = (slug: ProblemSlug, problems: ProblemRenderer): ProblemDetails => ({
  ...problemExamples[slug],
  type: problems.typeOf(slug),
});
