import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Controller, Get, Param } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../../auth/public.decorator.js';
import { IssuersService } from '../../auth/issuers/issuers.service.js';
import { Answer, AnswerKind } from '../../http/answer.js';
import { Problem } from '../../problems/problem.js';
import { DOCS_PAGE, INITIALIZER, STYLE } from './docs-page.js';
import { OpenApiService } from '../openapi/openapi.service.js';

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
@ApiExcludeController()
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

  constructor(
    private readonly openApi: OpenApiService,
    private readonly issuers: IssuersService,
  ) {}

  @Get('docs')
  show(): Answer {
    const { token_endpoint: tokenEndpoint } = this.issuers.first.describe() ?? {};
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
  document(): Answer {
    return this.openApi.current();
  }
}
