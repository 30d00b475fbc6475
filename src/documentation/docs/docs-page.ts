/** The page around Swagger UI. Addresses are relative, so that it works under any base path. */
export const DOCS_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Order Lookup Services</title>
<link rel="icon" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/docs.css">
</head>
<body>
<div id="documentation"></div>
<noscript>This page needs JavaScript. The same in machine-readable form: <a href="openapi.json">openapi.json</a></noscript>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/initializer.js"></script>
</body>
</html>`;

export const INITIALIZER = `'use strict';
document.documentElement.classList.toggle('dark-mode', matchMedia('(prefers-color-scheme: dark)').matches);
const SIGN_IN = 'Press Authorize, enter your API key, and press the Authorize below it. Then press the Authorize below accessToken: you sign in at the issuer, and come back with an access token.';
const TYPE = /(?<="type": ")([^"]*\\/problems\\/[a-z-]+)(?=")/;
fetch('openapi.json').then(async (answer) => {
  const spec = await answer.json();
  const { accessToken } = spec.components.securitySchemes;
  const { authorizationCode } = accessToken.flows; // a page can keep no secret, which the other grant needs
  if (authorizationCode) accessToken.flows = { authorizationCode };
  else Object.assign(accessToken, { type: 'http', scheme: 'bearer' }); // a field for a token that the person has
  const wrap = (render) => (Original, { React }) => (props) => render(React.createElement, Original, props);
  // Schema, examples and header fields of each answer are opened when they are wanted: an operation fits on a screen
  const closed = (name) => wrap((h, Original, props) => h('details', null, h('summary', null, name), h(Original, props)));
  const wrapComponents = {
    modelExample: closed('Example and schema'),
    headers: closed('Header fields'),
    authorizeBtn: wrap((h, Original, props) => h('div', null, h('p', null, SIGN_IN), h(Original, props))),
    ServersContainer: wrap(() => null), // there is one
    // For assistive technology: labels that hold the visible word, no link inside a button, text that can be scrolled by keys
    Button: wrap((h, Original, { 'aria-label': label, ...props }) => h(Original, { ...props, 'aria-label': label && props.children + ': ' + label })),
    CloseIcon: wrap(() => 'Close'),
    DeepLink: wrap((h, Original, { text }) => h('span', null, text)),
    PlainTextViewer: wrap((h, Original, { className = '', children }) => h('pre', { className: 'microlight ' + className, tabIndex: 0 },
      ...String(children).split(TYPE).map((part, at) => at % 2 ? h('a', { href: part, target: '_blank' }, part) : part))),
  };
  const ui = SwaggerUIBundle({
    spec, dom_id: '#documentation', plugins: [() => ({ wrapComponents })], syntaxHighlight: { activated: false },
    deepLinking: true, tryItOutEnabled: true, validatorUrl: null,
    oauth2RedirectUrl: location.origin + location.pathname + '/oauth2-redirect.html',
    onComplete: () => ui.initOAuth({ clientId: 'order-lookup-docs', usePkceWithAuthorizationCodeGrant: true, scopes: Object.keys(authorizationCode?.scopes ?? {}) }),
  });
});
`;

/** Colours have a contrast of 4.5 at least (WCAG 2.2, 1.4.3). Swagger UI would link the licence to a page of SPDX that does not exist. */
export const STYLE = `body { margin: 0; }
.swagger-ui .wrapper { box-sizing: border-box; max-width: 75rem; }
.swagger-ui summary { cursor: pointer; }
.swagger-ui .responses-table .response-col_description { display: flex; flex-wrap: wrap; column-gap: 1rem; padding: .25rem 0; }
.swagger-ui .response-col_description__inner { flex: 1 1 20rem; }
.swagger-ui .response-col_description details[open] { flex-basis: 100%; }
.swagger-ui .response-col_description:not(:has(details[open])) .response-controls, .swagger-ui .info__license { display: none; }
.swagger-ui .responses-table tbody tr td:first-of-type { padding: .25rem 0; }
.swagger-ui .microlight a { color: #9fd0ff; }
html:not(.dark-mode) .swagger-ui {
  .info .title small:not(.version-stamp), .download-contents { background: #4d5464; }
  .info .title small.version-stamp { background: #426600; }
  .opblock .opblock-summary-method, .btn.execute { background: #1a5fa8; }
  .btn.authorize, .btn.authorize span { color: #14713f; border-color: #14713f; fill: #14713f; }
  .btn.cancel { color: #b71c1c; border-color: #b71c1c; }
  .parameter__in, .json-schema-2020-12-expand-deep-button { color: #505050; }
}
.swagger-ui :is(.table-container, .execute-wrapper, .opblock-description-wrapper) { padding-block: .5rem; }
@media (max-width: 40rem) {
  .swagger-ui .wrapper { padding: 0 .75rem; }
  .swagger-ui .opblock .opblock-summary-path { max-width: 100%; word-break: break-all; }
  .swagger-ui .scheme-container .schemes { justify-content: flex-start; }
  .swagger-ui table { display: block; overflow-x: auto; }
}
`;
