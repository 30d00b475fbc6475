import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Controller, Get, Param } from '@nestjs/common';
import { Public } from '../../auth/public.decorator.js';
import type { IssuerMetadata } from '../../auth/issuers/discovery.js';
import { IssuersService } from '../../auth/issuers/issuers.service.js';
import { Configuration } from '../../configuration/configuration.js';
import { Answer, AnswerKind } from '../../http/answer.js';
import { Problem } from '../../problems/problem.js';
import { ProblemRenderer } from '../../problems/problem-details.js';
import { DOCS_PAGE, INITIALIZER, STYLE } from './docs-page.js';
import { openApiDocument } from '../openapi/openapi.document.js';

const SWAGGER_UI = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
const JAVASCRIPT = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const HTML = 'text/html; charset=utf-8';

const fromPackage = (type: string, file: string): [string, Answer] => [
  file,
  Answer.of(
    readFileSync(join(SWAGGER_UI, file)),
    AnswerKind.page(type, "default-src 'none'; script-src 'self'"),
  ),
];
const fromText = (type: string, text: string): Answer =>
  Answer.of(Buffer.from(text), AnswerKind.page(type));

/** The interactive documentation. It loads nothing from other hosts. */
@Public()
@Controller()
export class DocsController {
  private readonly files = new Map<string, Answer>([
    fromPackage(CSS, 'swagger-ui.css'),
    fromPackage(JAVASCRIPT, 'swagger-ui-bundle.js'),
    fromPackage('image/png', 'favicon-32x32.png'),
    fromPackage(HTML, 'oauth2-redirect.html'),
    fromPackage(JAVASCRIPT, 'oauth2-redirect.js'),
    ['initializer.js', fromText(JAVASCRIPT, INITIALIZER)],
    ['docs.css', fromText(CSS, STYLE)],
  ]);

  private metadata: IssuerMetadata | undefined;
  private openApi: Answer | undefined;

  constructor(
    private readonly configuration: Configuration,
    private readonly problems: ProblemRenderer,
    private readonly issuers: IssuersService,
  ) {}

  @Get('docs')
  show(): Answer {
    const { token_endpoint: tokenEndpoint } = this.issuers.first.discovery.metadata ?? {};
    const issuer =
      tokenEndpoint && URL.canParse(tokenEndpoint) ? ` ${new URL(tokenEndpoint).origin}` : '';
    const policy = `default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'${issuer}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
    return Answer.of(Buffer.from(DOCS_PAGE), AnswerKind.page(HTML, policy));
  }

  @Get('docs/:file')
  file(@Param('file') file: string): Answer {
    const page = this.files.get(file);
    if (!page) throw new Problem('not-found', { detail: 'There is no such page.' });
    return page;
  }

  @Get('openapi.json')
  /** Made again only when the metadata of the issuer changes. */
  document(): Answer {
    const { metadata } = this.issuers.first.discovery;
    if (!this.openApi || metadata !== this.metadata) {
      const document = openApiDocument(this.configuration, this.problems, metadata);
      this.openApi = fromText('application/json', JSON.stringify(document));
      this.metadata = metadata;
    }
    return this.openApi;
  }
}
