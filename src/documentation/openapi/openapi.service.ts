import { Injectable } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { IssuerMetadata } from '../../auth/issuers/discovery.js';
import { IssuersService } from '../../auth/issuers/issuers.service.js';
import { Answer, AnswerKind } from '../../http/answer.js';

const JSON_PAGE = AnswerKind.page('application/json');

/** The OpenAPI document with the addresses of the first issuer, once its metadata is known. */
@Injectable()
export class OpenApiService {
  private document: OpenAPIObject | undefined;
  private metadata: IssuerMetadata | undefined;
  private answer: Answer | undefined;

  constructor(private readonly issuers: IssuersService) {}

  use(document: OpenAPIObject): void {
    this.document = document;
  }

  /** Created again only when the metadata of the issuer changes. All requests share the bytes. */
  current(): Answer {
    const metadata = this.issuers.first.describe();
    if (!this.answer || metadata !== this.metadata) {
      this.metadata = metadata;
      this.answer = Answer.of(Buffer.from(JSON.stringify(this.documentFor(metadata))), JSON_PAGE);
    }
    return this.answer;
  }

  private documentFor(issuer: IssuerMetadata | undefined): OpenAPIObject {
    if (!this.document) throw new Error('the OpenAPI document was asked for before it was made');
    const document = structuredClone(this.document);
    const scheme = document.components?.securitySchemes?.['accessToken'];
    const flow = scheme && 'flows' in scheme ? scheme.flows?.authorizationCode : undefined;
    if (flow && issuer?.authorization_endpoint && issuer.token_endpoint)
      Object.assign(flow, {
        authorizationUrl: issuer.authorization_endpoint,
        tokenUrl: issuer.token_endpoint,
      });
    // Many issuers grant nothing if no scope is requested; every OpenID provider knows the scope openid
    if (
      flow &&
      Object.keys(flow.scopes).length === 0 &&
      issuer?.scopes_supported?.includes('openid')
    )
      flow.scopes = { openid: 'Sign in; this service demands no scope' };
    return document;
  }
}
