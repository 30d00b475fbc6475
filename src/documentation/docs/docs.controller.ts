import { readFileSync } from 'node:fs';
import { Controller, Get, Param } from '@nestjs/common';
import { IssuersService } from '../../auth/issuers/issuers.service.js';
import { Public } from '../../auth/public.decorator.js';
import type { Answer } from '../../http/answer.js';
import { Problem } from '../../problems/problem.js';
import { HTML, createDocumentationAnswer } from '../page.js';

const CSS = 'text/css; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';
const PNG = 'image/png';

/** The files of Swagger UI that the page loads. It loads nothing from other hosts. */
const SWAGGER_UI_FILES = [
  { name: 'swagger-ui.css', contentType: CSS },
  { name: 'index.css', contentType: CSS },
  { name: 'swagger-ui-bundle.js', contentType: JAVASCRIPT },
  { name: 'favicon-32x32.png', contentType: PNG },
  { name: 'oauth2-redirect.html', contentType: HTML },
  { name: 'oauth2-redirect.js', contentType: JAVASCRIPT },
];
const OWN_FILES = [{ name: 'initializer.js', contentType: JAVASCRIPT }];

/** Allows scripts, because one of the files, oauth2-redirect.html, is a page with a script. */
const FILE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * Serves Swagger UI, with a page and an initializer of ours. All files are kept in memory, because a stream for each
 * request would take gigabytes if callers send many requests without waiting for answers.
 */
@Public()
@Controller('docs')
export class DocsController {
  private readonly page = readOwnFile('index.html');
  private readonly answers = new Map<string, Answer>();

  constructor(private readonly issuers: IssuersService) {
    for (const file of SWAGGER_UI_FILES) {
      const body = readSwaggerUiFile(file.name);
      this.answers.set(file.name, createDocumentationAnswer({ ...file, body, policy: FILE_POLICY }));
    }
    for (const file of OWN_FILES) {
      const body = readOwnFile(file.name);
      this.answers.set(file.name, createDocumentationAnswer({ ...file, body, policy: FILE_POLICY }));
    }
  }

  @Get()
  showPage(): Answer {
    return createDocumentationAnswer({ contentType: HTML, body: this.page, policy: this.formatPagePolicy() });
  }

  @Get(':name')
  getFile(@Param('name') name: string): Answer {
    const answer = this.answers.get(name);
    if (!answer) throw new Problem('not-found', { detail: 'There is no such page.' });
    return answer;
  }

  /** Returns a policy that lets the page call the service and the issuer's token endpoint. */
  private formatPagePolicy(): string {
    const callableOrigins = ["'self'", ...this.findIssuerOrigins()];
    return [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self' 'unsafe-inline'", // Swagger UI sets styles of elements
      "img-src 'self' data:",
      `connect-src ${callableOrigins.join(' ')}`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; ');
  }

  /** Returns the origin of the first issuer's token endpoint, if it is known. Swagger UI asks no other issuer. */
  private findIssuerOrigins(): string[] {
    const [firstIssuer] = this.issuers.all;
    const tokenEndpoint = firstIssuer?.metadata?.token_endpoint;
    if (tokenEndpoint === undefined || !URL.canParse(tokenEndpoint)) return [];
    return [new URL(tokenEndpoint).origin];
  }
}

function readSwaggerUiFile(name: string): Buffer {
  return readFileSync(new URL(import.meta.resolve(`swagger-ui-dist/${name}`)));
}

function readOwnFile(name: string): Buffer {
  return readFileSync(new URL(name, import.meta.url));
}
