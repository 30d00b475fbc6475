import { Controller, Get, Param } from '@nestjs/common';
import { Public } from '../../auth/public.decorator.js';
import { Answer, AnswerKind } from '../../http/answer.js';
import { Problem } from '../../problems/problem.js';
import { ProblemRenderer } from '../../problems/problem-details.js';
import { type ProblemSlug, problemTypes } from '../../problems/problem-types.js';

const HTML = AnswerKind.page(
  'text/html; charset=utf-8',
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);
const slugs = Object.keys(problemTypes) as ProblemSlug[];

/** A page for each problem type: what happened, and how to mend it. */
@Public()
@Controller('problems')
export class ProblemsController {
  constructor(private readonly problems: ProblemRenderer) {}

  @Get()
  index(): Answer {
    const links = slugs.map((slug) => {
      const { status, title } = problemTypes[slug];
      return `<a href="${escape(this.problems.typeOf(slug))}">${escape(title)}</a> (${status})`;
    });
    const text = 'Every error is a problem document (RFC 9457). Its type is one of these.';
    return page('Problem types', `<p>${text}</p>${listOf(links)}`);
  }

  @Get(':slug')
  show(@Param('slug') name: string): Answer {
    const slug = slugs.find((known) => known === name);
    if (!slug)
      throw new Problem('not-found', {
        detail: 'There is no such problem type. All of them are at /problems.',
      });
    const { status, title, meaning, remedy } = problemTypes[slug];
    const steps = listOf(remedy.map(escape));
    return page(title, `<p>Status ${status}. ${escape(meaning)}</p><h2>What to check</h2>${steps}`);
  }
}

const listOf = (items: readonly string[]): string => `<ul><li>${items.join('<li>')}</ul>`;
const escape = (text: string): string =>
  text.replaceAll(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

const page = (title: string, content: string): Answer =>
  Answer.of(
    `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)} – Order Lookup Services</title>
<style>
:root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif; }
body { max-width: 44rem; margin: 3rem auto; padding: 0 1.25rem; }
</style>
<h1>${escape(title)}</h1>
${content}
</html>`,
    HTML,
  );
