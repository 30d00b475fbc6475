import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Controller, Get, Param } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../../auth/public.decorator.js';
import { IssuersService } from '../../auth/issuers/issuers.service.js';
import { Page } from '../../http/page.js';
import { Problem } from '../../problems/problem.js';
import { DOCS_PAGE, INITIALIZER, STYLE } from './docs-page.js';
import { OpenApiService } from '../openapi/openapi.service.js';

const SWAGGER_UI = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
const JAVASCRIPT = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const HTML = 'text/html; charset=utf-8';

const fromPackage = (type: string, file: string): [string, Page] => [
  file,
  new Page(type, readFileSync(join(SWAGGER_UI, file)), "default-src 'none'; script-src 'self'"),
];

/** The interactive documentation: everything it loads comes from here. */
@ApiExcludeController()
@Public()
@Controller()
export class DocsController {
  private readonly files = new Map<string, Page>([
    fromPackage(CSS, 'swagger-ui.css'),
    fromPackage(JAVASCRIPT, 'swagger-ui-bundle.js'),
    fromPackage('image/png', 'favicon-32x32.png'),
    fromPackage(HTML, 'oauth2-redirect.html'),
    fromPackage(JAVASCRIPT, 'oauth2-redirect.js'),
    ['initializer.js', new Page(JAVASCRIPT, Buffer.from(INITIALIZER))],
    ['docs.css', new Page(CSS, Buffer.from(STYLE))],
  ]);

  constructor(
    private readonly openApi: OpenApiService,
    private readonly issuers: IssuersService,
  ) {}

  @Get('docs')
  show(): Page {
    const { token_endpoint: tokenEndpoint } = this.issuers.first.describe() ?? {};
    const issuer =
      tokenEndpoint && URL.canParse(tokenEndpoint) ? ` ${new URL(tokenEndpoint).origin}` : '';
    return new Page(
      HTML,
      Buffer.from(DOCS_PAGE),
      `default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'${issuer}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
  }

  @Get('docs/:file')
  file(@Param('file') file: string): Page {
    const page = this.files.get(file);
    if (!page) throw new Problem('not-found', { detail: 'There is no such page.' });
    return page;
  }

  @Get('openapi.json')
  document(): Page {
    return new Page('application/json', Buffer.from(JSON.stringify(this.openApi.current())));
  }
}
