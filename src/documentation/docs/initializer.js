// Starts Swagger UI, as swagger-initializer.js of swagger-ui-dist does, with our settings.
async function showDocumentation() {
  const response = await fetch('openapi.json');
  const spec = await response.json();

  // Swagger UI calls the host of this page, so that the page also works behind a gateway or a port-forward
  const folder = new URL('.', location.href).href;
  spec.servers = [{ url: folder.slice(0, -1) }];

  // Swagger UI would link the licence to a page of SPDX that does not exist
  delete spec.info.license;

  const { securitySchemes } = spec.components;
  const authorizationCode = securitySchemes.accessToken.flows?.authorizationCode;
  if (authorizationCode) {
    // Leaves out the grant for programs, because nobody should enter a secret here. A program's token can be pasted
    securitySchemes.accessToken.flows = { authorizationCode };
    securitySchemes.pastedAccessToken = { type: 'http', scheme: 'bearer' };
    spec.security.push({ apiKey: [], pastedAccessToken: [] });
  } else {
    securitySchemes.accessToken = { type: 'http', scheme: 'bearer' };
  }

  const ui = SwaggerUIBundle({
    spec,
    dom_id: '#documentation',
    deepLinking: true,
    tryItOutEnabled: true,
    validatorUrl: null,
    syntaxHighlight: { activated: false }, // for an answer with all codes, it would block the browser
    oauth2RedirectUrl: new URL('docs/oauth2-redirect.html', location.href).href,
  });
  ui.initOAuth({
    clientId: 'order-lookup-docs',
    usePkceWithAuthorizationCodeGrant: true,
    scopes: Object.keys(authorizationCode?.scopes ?? {}),
  });
}

void showDocumentation();
