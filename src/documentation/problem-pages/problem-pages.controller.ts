import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Public } from '../../auth/public.decorator.js';
import { Configuration } from '../../configuration/configuration.js';
import { HTML_PAGE_POLICY } from '../../html/html.js';
import type { Answer } from '../../http/answer.js';
import { Problem } from '../../problems/problem.js';
import { type ProblemSlug, problemTypes } from '../../problems/problem-types.js';
import { HTML, documentationAnswer } from '../documentation-answer.js';
import { prefersHtml } from '../prefers-html.js';
import { indexPage, notFoundPage, problemPage } from './problem-pages.js';

/** The pages of the problem types. The type of each problem document is the address of one of them. */
@Public()
@Controller('problems')
export class ProblemPagesController {
  private readonly index: Answer;
  private readonly pages: ReadonlyMap<string, Answer>;

  constructor(private readonly configuration: Configuration) {
    const { baseAddress } = configuration;
    const slugs = Object.keys(problemTypes) as ProblemSlug[];
    this.index = answerOf(indexPage(baseAddress));
    this.pages = new Map(slugs.map((slug) => [slug, answerOf(problemPage(slug, baseAddress))]));
  }

  @Get()
  list(): Answer {
    return this.index;
  }

  @Get(':slug')
  show(
    @Param('slug') slug: string,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Answer | string {
    const page = this.pages.get(slug);
    if (page) return page;
    if (!prefersHtml(request)) throw new Problem('not-found', { detail: 'There is no such problem type.' });
    response.status(404).set('Content-Security-Policy', HTML_PAGE_POLICY);
    return notFoundPage(this.configuration.baseAddress);
  }
}

function answerOf(page: string): Answer {
  return documentationAnswer({ contentType: HTML, body: page, policy: HTML_PAGE_POLICY });
}
