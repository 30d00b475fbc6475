import { Injectable } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { JwksService } from '../../auth/issuers/jwks.service.js';

/** The OpenAPI document with the addresses of the issuer as its discovery gives them. */
@Injectable()
export class OpenApiService {
  private document: OpenAPIObject | undefined;

  constructor(private readonly jwks: JwksService) {}

  use(document: OpenAPIObject): void {
    this.document = document;
  }

  async current(): Promise<OpenAPIObject> {
    if (!this.document) throw new Error('the OpenAPI document was asked for before it was made');
    const document = structuredClone(this.document);
    const issuer = await this.jwks.describeIssuer();
    const scheme = document.components?.securitySchemes?.['accessToken'];
    const flow = scheme && 'flows' in scheme ? scheme.flows?.authorizationCode : undefined;
    if (flow && issuer?.authorization_endpoint && issuer.token_endpoint)
      Object.assign(flow, {
        authorizationUrl: issuer.authorization_endpoint,
        tokenUrl: issuer.token_endpoint,
      });
    // Many issuers grant nothing where no scope is asked for; openid is one that OpenID providers always know
    if (
      flow &&
      Object.keys(flow.scopes).length === 0 &&
      issuer?.scopes_supported?.includes('openid')
    )
      flow.scopes = { openid: 'Sign in; this service demands no scope' };
    return document;
  }
}
