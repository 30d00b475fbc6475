import { readFileSync } from 'node:fs';
import { Controller, Get, Param } from '@nestjs/common';
import { Public } from '../../auth/public.decorator.js';
import { IssuersService } from '../../auth/issuers/issuers.service.js';
import { Answer } from '../../http/answer.js';
import { Problem } from '../../problems/problem.js';

const CSS = 'text/css; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';
const HTML = 'text/html; charset=utf-8';

const fromPackage = (name: string): Buffer =>
  readFileSync(new URL(import.meta.resolve(`swagger-ui-dist/${name}`)));
const fromHere = (name: string): Buffer => readFileSync(new URL(name, import.meta.url));

/** What the page loads. It loads nothing from other hosts. */
const FILES = [
  { name: 'swagger-ui.css', type: CSS, read: fromPackage },
  { name: 'index.css', type: CSS, read: fromPackage },
  { name: 'swagger-ui-bundle.js', type: JAVASCRIPT, read: fromPackage },
  { name: 'favicon-32x32.png', type: 'image/png', read: fromPackage },
  { name: 'oauth2-redirect.html', type: HTML, read: fromPackage },
  { name: 'oauth2-redirect.js', type: JAVASCRIPT, read: fromPackage },
  { name: 'initializer.js', type: JAVASCRIPT, read: fromHere },
];
const FILE_POLICY = "default-src 'none'; script-src 'self'";

/**
 * The interactive documentation: Swagger UI as it comes. Its files are kept in memory, since a stream for each request
 * takes gigabytes where many requests are pipelined.
 */
@Public()
@Controller('docs')
export class DocsController {
  private readonly page = fromHere('index.html');
  private readonly files = new Map(
    FILES.map(({ name, type, read }) => [name, Answer.page(type, read(name), FILE_POLICY)]),
  );

  constructor(private readonly issuers: IssuersService) {}

  @Get()
  show(): Answer {
    return Answer.page(HTML, this.page, this.pagePolicy());
  }

  @Get(':file')
  file(@Param('file') name: string): Answer {
    const file = this.files.get(name);
    if (!file) throw new Problem('not-found', { detail: 'There is no such page.' });
    return file;
  }

  /** The page may call the service, and the issuer for the token of the person who signs in. Swagger UI sets styles. */
  private pagePolicy(): string {
    const tokenEndpoint = this.issuers.all[0]?.metadata?.token_endpoint ?? '';
    const callable = URL.canParse(tokenEndpoint)
      ? `'self' ${new URL(tokenEndpoint).origin}`
      : "'self'";
    return [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self' 'unsafe-inline'",
      "img-src 'self' data:",
      `connect-src ${callable}`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; ');
  }
}
