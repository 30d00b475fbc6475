import type { ProblemDetails, ProblemRenderer } from '../../problems/problem-details.js';
import type { ProblemSlug } from '../../problems/problem-types.js';
import { problemExamples } from './problem-examples.js';

/** A real reply of the service, with the type as this service writes it (absolute if PUBLIC_BASE_URL is set). */
export const exampleOf = (slug: ProblemSlug, problems: ProblemRenderer): ProblemDetails => ({
  ...problemExamples[slug],
  type: problems.typeOf(slug),
});
