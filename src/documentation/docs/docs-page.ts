/** The page around Swagger UI. Addresses are relative, so that it works under any base path. */
export const DOCS_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Order Lookup Services</title>
<link rel="icon" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/docs.css">
</head>
<body>
<main id="documentation"></main>
<noscript>This page needs JavaScript. The same in machine-readable form: <a href="openapi.json">openapi.json</a></noscript>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/initializer.js"></script>
</body>
</html>`;

export const INITIALIZER = `'use strict';
const here = location.origin + location.pathname;
fetch('openapi.json').then(async (answer) => {
  const spec = await answer.json();
  const scopes = Object.keys(spec.components.securitySchemes.accessToken.flows.authorizationCode.scopes);
  // Schema, examples and header fields of each answer are opened when they are wanted: an operation fits on a screen
  const closed = (name) => (Original, { React }) => (props) =>
    React.createElement('details', null, React.createElement('summary', null, name), React.createElement(Original, props));
  const plugin = { wrapComponents: { modelExample: closed('Example and schema'), headers: closed('Header fields') } };
  const ui = SwaggerUIBundle({
    spec,
    plugins: [() => plugin],
    dom_id: '#documentation',
    deepLinking: true,
    tryItOutEnabled: true,
    validatorUrl: null,
    oauth2RedirectUrl: here + '/oauth2-redirect.html',
    onComplete: () => ui.initOAuth({ clientId: 'order-lookup-docs', usePkceWithAuthorizationCodeGrant: true, scopes }),
  });
});
`;

export const STYLE = `body { margin: 0; }
.swagger-ui .wrapper { box-sizing: border-box; max-width: 75rem; }
.swagger-ui summary { cursor: pointer; }
.swagger-ui .responses-table .response-col_description { display: flex; flex-wrap: wrap; column-gap: 1rem; padding: .25rem 0; }
.swagger-ui .response-col_description__inner { flex: 1 1 20rem; }
.swagger-ui .response-col_description details[open] { flex-basis: 100%; }
.swagger-ui .response-col_description:not(:has(details[open])) .response-controls { display: none; }
.swagger-ui .responses-table tbody tr td:first-of-type { padding: .25rem 0; }
/* Swagger UI would link the licence to a page of SPDX that does not exist */
.swagger-ui .info__license { display: none; }
@media (max-width: 40rem) {
  .swagger-ui .wrapper { padding: 0 .75rem; }
  .swagger-ui .opblock .opblock-summary-path { max-width: 100%; word-break: break-all; }
  .swagger-ui .scheme-container .schemes { justify-content: flex-start; }
  .swagger-ui table { display: block; overflow-x: auto; }
}
`;
