import { Controller, Get } from '@nestjs/common';
import { Public } from '../auth/public.decorator.js';
import type { IssuerMetadata } from '../auth/issuers/discovery.js';
import { IssuersService } from '../auth/issuers/issuers.service.js';
import { Configuration } from '../configuration/configuration.js';
import type { Answer } from '../http/answer.js';
import { documentationAnswer } from './page.js';
import { openApiDocument } from './openapi-document.js';

@Public()
@Controller('openapi.json')
export class OpenApiController {
  private latest: { readonly issuer: IssuerMetadata | undefined; readonly answer: Answer };

  constructor(
    private readonly configuration: Configuration,
    private readonly issuers: IssuersService,
  ) {
    this.latest = this.makeFor(undefined);
  }

  /** Gives the document, which is made again when the metadata of the first issuer have changed. */
  @Get()
  show(): Answer {
    const issuer = this.issuers.all[0]?.metadata;
    if (issuer !== this.latest.issuer) this.latest = this.makeFor(issuer);
    return this.latest.answer;
  }

  private makeFor(issuer: IssuerMetadata | undefined) {
    const body = JSON.stringify(openApiDocument(this.configuration, issuer));
    const contentType = 'application/json';
    return { issuer, answer: documentationAnswer({ contentType, body }) };
  }
}
