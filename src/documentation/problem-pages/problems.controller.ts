import { Controller, Get, Headers, Param } from '@nestjs/common';
import { Public } from '../../auth/public.decorator.js';
import { Configuration } from '../../configuration/configuration.js';
import { Answer } from '../../http/answer.js';
import { Problem } from '../../problems/problem.js';
import { ProblemRenderer } from '../../problems/problem-details.js';
import { type ProblemSlug, problemTypes } from '../../problems/problem-types.js';
import { sampleOf } from '../openapi/responses.js';

const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const CONTENT_SECURITY = ['Content-Security-Policy', POLICY];
const answerOf = (page: string) => Answer.page('text/html; charset=utf-8', page, POLICY);
const slugs = Object.keys(problemTypes) as ProblemSlug[];

/** Whether it helps to send the request again, by status; `invalid-credentials` is the exception. */
const WAIT = 'Yes, after the seconds in Retry-After.';
const AGAIN: Record<number, string> = { 408: 'Yes.', 429: WAIT, 500: 'Yes, later.', 503: WAIT };
const againOf = (slug: ProblemSlug): string =>
  slug === 'invalid-credentials'
    ? 'Once, with a new access token.'
    : (AGAIN[problemTypes[slug].status] ?? 'No: it would fail again.');

@Public()
@Controller()
export class ProblemsController {
  constructor(
    private readonly problems: ProblemRenderer,
    private readonly configuration: Configuration,
  ) {}

  @Get()
  entrance(@Headers('accept') accept?: string): Answer {
    const text = '<p>This service tells programs which codes an order may hold.</p>';
    if (isForPerson(accept)) return answerOf(this.page('Order Lookup Services', text));
    throw new Problem('not-found', { detail: 'There is no operation at this address.' });
  }

  @Get('problems')
  index(): Answer {
    const links = slugs.map((slug) => {
      const { status, title } = problemTypes[slug];
      return `<a href="${escape(this.problems.typeOf(slug))}">${slug}</a> (${status}): ${escape(title)}`;
    });
    const text = 'Every error is a problem document (RFC 9457). Its type ends with one of these:';
    return answerOf(this.page('Problem types', `<p>${text}</p>${listOf(links)}`));
  }

  @Get('problems/:slug')
  show(@Param('slug') name: string, @Headers('accept') accept?: string): Answer {
    const slug = slugs.find((known) => known === name);
    if (!slug) {
      const detail = 'There is no such problem type. All of them are at /problems.';
      const page = isForPerson(accept) ? this.page('Not found', `<p>${detail}</p>`) : undefined;
      throw new Problem('not-found', { detail, page, ...(page && { headers: CONTENT_SECURITY }) });
    }
    const { status, title, meaning, remedy } = problemTypes[slug];
    const sample = escape(JSON.stringify(sampleOf(slug, this.problems), null, 2));
    const content = `<p>Type <code>${slug}</code>, status ${status}. ${escape(meaning)}</p>
<h2>What to check</h2>${listOf(remedy.map(escape))}<h2>Try again?</h2><p>${againOf(slug)}</p>
<h2>Sample</h2><pre>${sample}</pre>`;
    return answerOf(this.page(title, content));
  }

  private page(title: string, content: string): string {
    const { baseAddress, DOCUMENTATION } = this.configuration;
    const links = [['problems', 'Problem types'], ...(DOCUMENTATION === 'on' ? DOCUMENTS : [])];
    const nav = links.map(([path, text]) => `<a href="${escape(baseAddress)}/${path}">${text}</a>`);
    return `<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)} – Order Lookup Services</title>
<style>
html { color-scheme: light dark; background: light-dark(#fff, #16191d); color: light-dark(#222, #e6e6e6); font: 16px/1.6 system-ui, sans-serif; }
body { max-width: 44rem; margin: 3rem auto; padding: 0 1.25rem; } a { color: light-dark(#0b5cad, #9fd0ff); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
</style>
<nav>${nav.join(' · ')}</nav>
<main><h1>${escape(title)}</h1>${content}</main>
</html>`;
  }
}

const DOCUMENTS = [
  ['docs', 'Documentation'],
  ['openapi.json', 'OpenAPI document'],
];
/** A browser names this type; a program that does not gets a problem document. */
const isForPerson = (accept = ''): boolean => accept.includes('text/html');
const listOf = (items: readonly string[]): string => `<ul><li>${items.join('<li>')}</ul>`;
const escape = (text: string): string =>
  text.replaceAll(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
