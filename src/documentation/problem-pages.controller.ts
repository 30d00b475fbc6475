import { Controller, Get, Param } from '@nestjs/common';
import { Public } from '../auth/public.decorator.js';
import type { Answer } from '../http/answer.js';
import { type ProblemType, problemTypes } from '../problems/problem-types.js';
import { Problem } from '../problems/problem.js';
import { createPlainPage } from './page.js';

/** A page for each problem type. The `type` of a problem document is the address of its page. */
@Public()
@Controller('problems')
export class ProblemPagesController {
  private readonly pages = new Map<string, Answer>();

  constructor() {
    for (const [slug, type] of Object.entries(problemTypes)) this.pages.set(slug, createProblemPage(slug, type));
  }

  @Get(':slug')
  show(@Param('slug') slug: string): Answer {
    const page = this.pages.get(slug);
    if (!page) throw new Problem('not-found', { detail: 'There is no such problem type.' });
    return page;
  }
}

function createProblemPage(slug: string, { status, title, meaning, remedy }: ProblemType): Answer {
  const steps = remedy.map((step) => `<li>${step}</li>`);
  return createPlainPage(
    title,
    `<p>Problem type <code>${slug}</code>, status ${status}</p>
      <h2>What happened</h2>
      <p>${meaning}</p>
      <h2>How to mend it</h2>
      <ul>${steps.join('')}</ul>`,
  );
}
