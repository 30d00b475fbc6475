import { Controller, Get, Req } from '@nestjs/common';
import type { Request } from 'express';
import { Public } from '../auth/public.decorator.js';
import { Configuration } from '../configuration/configuration.js';
import { HTML_PAGE_POLICY, html, htmlPage } from '../html/html.js';
import type { Answer } from '../http/answer.js';
import { Problem } from '../problems/problem.js';
import { HTML, documentationAnswer } from './documentation-answer.js';
import { prefersHtml } from './prefers-html.js';

/** The page for people who type the address of the service into a browser. */
@Public()
@Controller()
export class EntranceController {
  private readonly page: Answer;

  constructor({ baseAddress, DOCUMENTATION }: Configuration) {
    const documents = [
      { path: 'docs', name: 'Documentation' },
      { path: 'openapi.json', name: 'OpenAPI document' },
    ];
    const problems = { path: 'problems', name: 'Problem types' };
    const targets = DOCUMENTATION === 'on' ? [...documents, problems] : [problems];
    const links = targets.map(({ path, name }) => html`<li><a href="${baseAddress}/${path}">${name}</a></li>`);
    const body = html`<main>
      <h1>Order Lookup Services</h1>
      <p>This service tells programs which codes an order may hold.</p>
      <ul>
        ${links}
      </ul>
    </main>`;
    this.page = documentationAnswer({
      contentType: HTML,
      body: htmlPage({ title: 'Entrance', body }),
      policy: HTML_PAGE_POLICY,
    });
  }

  @Get()
  show(@Req() request: Request): Answer {
    if (prefersHtml(request)) return this.page;
    throw new Problem('not-found', { detail: 'There is no operation at this address.' });
  }
}
