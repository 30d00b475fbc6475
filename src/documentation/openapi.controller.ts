import { Controller, Get } from '@nestjs/common';
import { Public } from '../auth/public.decorator.js';
import type { IssuerMetadata } from '../auth/issuers/discovery.js';
import { IssuersService } from '../auth/issuers/issuers.service.js';
import { Configuration } from '../configuration/configuration.js';
import type { Answer } from '../http/answer.js';
import { createOpenApiDocument, toOpenApi30 } from './openapi-document.js';
import { createDocumentationAnswer } from './page.js';

interface Documents {
  readonly issuer: IssuerMetadata | undefined;
  readonly openApi31: Answer;
  readonly openApi30: Answer;
}

/** The contract in OpenAPI 3.1 and 3.0. It names the first issuer's addresses, so it is made again if they change. */
@Public()
@Controller()
export class OpenApiController {
  private latest: Documents;

  constructor(
    private readonly configuration: Configuration,
    private readonly issuers: IssuersService,
  ) {
    this.latest = this.makeDocuments(undefined);
  }

  @Get('openapi.json')
  showOpenApi31(): Answer {
    return this.getDocuments().openApi31;
  }

  @Get('openapi-3.0.json')
  showOpenApi30(): Answer {
    return this.getDocuments().openApi30;
  }

  private getDocuments(): Documents {
    const issuer = this.issuers.all[0]?.metadata;
    if (issuer !== this.latest.issuer) this.latest = this.makeDocuments(issuer);
    return this.latest;
  }

  private makeDocuments(issuer: IssuerMetadata | undefined): Documents {
    const document = createOpenApiDocument(this.configuration, issuer);
    return { issuer, openApi31: createJsonAnswer(document), openApi30: createJsonAnswer(toOpenApi30(document)) };
  }
}

function createJsonAnswer(document: object): Answer {
  return createDocumentationAnswer({ contentType: 'application/json', body: JSON.stringify(document) });
}
