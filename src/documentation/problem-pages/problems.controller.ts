import { Controller, Get, Param, Req } from '@nestjs/common';
import { Public } from '../../auth/public.decorator.js';
import type { ServiceRequest } from '../../http/service-request.js';
import { Answer, AnswerKind } from '../../http/answer.js';
import { Problem } from '../../problems/problem.js';
import { ProblemRenderer } from '../../problems/problem-details.js';
import { type ProblemSlug, problemTypes } from '../../problems/problem-types.js';
import { exampleOf } from '../openapi/problem-examples.js';
import { PROBLEM_PAGE_POLICY, problemIndexPage, problemPage } from './problem-page.js';

/** A page for each problem type: HTML for people, JSON for programs. */
@Public()
@Controller('problems')
export class ProblemsController {
  constructor(private readonly problems: ProblemRenderer) {}

  @Get()
  index(@Req() request: ServiceRequest): Answer {
    const types = (Object.keys(problemTypes) as ProblemSlug[]).map((slug) => ({
      type: this.problems.typeOf(slug),
      ...problemTypes[slug],
    }));
    return prefersHtml(request) ? html(problemIndexPage(types)) : json({ problems: types });
  }

  @Get(':slug')
  show(@Param('slug') slug: string, @Req() request: ServiceRequest): Answer {
    if (!isSlug(slug))
      throw new Problem('not-found', {
        detail: 'There is no such problem type. All of them are at /problems.',
      });
    const type = problemTypes[slug];
    const example = exampleOf(slug, this.problems);
    return prefersHtml(request)
      ? html(problemPage(type, example))
      : json({ type: example.type, ...type, example });
  }
}

const isSlug = (slug: string): slug is ProblemSlug => Object.hasOwn(problemTypes, slug);
const prefersHtml = ({ headers }: ServiceRequest): boolean =>
  headers.accept?.includes('text/html') === true;
const VARY = ['Vary', 'Accept'];
const HTML = AnswerKind.page('text/html; charset=utf-8', PROBLEM_PAGE_POLICY, VARY);
const JSON_PAGE = AnswerKind.page('application/json', undefined, VARY);
const html = (text: string): Answer => Answer.of(Buffer.from(text), HTML);
const json = (value: unknown): Answer => Answer.of(Buffer.from(JSON.stringify(value)), JSON_PAGE);
