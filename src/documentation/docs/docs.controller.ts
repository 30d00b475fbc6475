import { readFileSync } from 'node:fs';
import { Controller, Get, Param } from '@nestjs/common';
import { Public } from '../../auth/public.decorator.js';
import type { IssuerMetadata } from '../../auth/issuers/discovery.js';
import { IssuersService } from '../../auth/issuers/issuers.service.js';
import { Configuration } from '../../configuration/configuration.js';
import { Answer } from '../../http/answer.js';
import { Problem } from '../../problems/problem.js';
import { ProblemRenderer } from '../../problems/problem-details.js';
import { openApiDocument } from '../openapi/openapi.document.js';
import { DOCS_PAGE, INITIALIZER, STYLE } from './docs-page.js';

const CSS = 'text/css; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';
const HTML = 'text/html; charset=utf-8';

const fromPackage = (name: string, type: string): [string, Answer] => {
  const body = readFileSync(new URL(import.meta.resolve(`swagger-ui-dist/${name}`)));
  return [name, Answer.page(type, body, "default-src 'none'; script-src 'self'")];
};

/** The interactive documentation. It loads nothing from other hosts. */
@Public()
@Controller()
export class DocsController {
  private readonly files = new Map<string, Answer>([
    fromPackage('swagger-ui.css', CSS),
    fromPackage('swagger-ui-bundle.js', JAVASCRIPT),
    fromPackage('favicon-32x32.png', 'image/png'),
    fromPackage('oauth2-redirect.html', HTML),
    fromPackage('oauth2-redirect.js', JAVASCRIPT),
    ['initializer.js', Answer.page(JAVASCRIPT, INITIALIZER)],
    ['docs.css', Answer.page(CSS, STYLE)],
  ]);
  private openApi: { metadata: IssuerMetadata | undefined; answer: Answer } | undefined;

  constructor(
    private readonly configuration: Configuration,
    private readonly problems: ProblemRenderer,
    private readonly issuers: IssuersService,
  ) {}

  @Get('docs')
  show(): Answer {
    const { token_endpoint: address = '' } = this.issuers.all[0]?.metadata ?? {};
    const issuer = URL.canParse(address) ? ` ${new URL(address).origin}` : '';
    const policy = `default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'${issuer}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
    return Answer.page(HTML, DOCS_PAGE, policy);
  }

  @Get('docs/:file')
  file(@Param('file') file: string): Answer {
    const found = this.files.get(file);
    if (!found) throw new Problem('not-found', { detail: 'There is no such page.' });
    return found;
  }

  /** Made again only when the metadata of the issuer changes. */
  @Get('openapi.json')
  document(): Answer {
    const metadata = this.issuers.all[0]?.metadata;
    if (!this.openApi || this.openApi.metadata !== metadata) {
      const document = openApiDocument(this.configuration, this.problems, metadata);
      const answer = Answer.page('application/json', JSON.stringify(document));
      this.openApi = { metadata, answer };
    }
    return this.openApi.answer;
  }
}
