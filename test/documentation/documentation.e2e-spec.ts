import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { type ProblemSlug, problemTypes } from '../../src/problems/problem-types.js';
import { Contract, type OpenApiDocument } from '../support/contract.js';
import { localWorld } from '../support/local-world.js';
import { expectProblem } from '../support/problem.js';
import type { Reply } from '../support/raw.js';
import { until } from '../support/until.js';

const NO_CREDENTIALS = { 'Api-Key': undefined, Authorization: undefined };
/** As browsers send it. */
const BROWSER_ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const HTML = 'text/html; charset=utf-8';

const world = localWorld();
const file = parse(readFileSync('src/documentation/openapi.yaml', 'utf8')) as OpenApiDocument;

const open = (path: string, headers: Record<string, string> = {}): Promise<Reply> =>
  world.get(path, { headers: { ...NO_CREDENTIALS, ...headers } });

describe('GET /openapi.json', () => {
  it('is openapi.yaml, with the endpoints of the issuer', async () => {
    const { headers, text } = await open('/openapi.json');
    expect(headers.get('content-type')).toBe('application/json');
    const { securitySchemes } = file.components;
    const [authorizationUrl, tokenUrl] = [`${world.issuer.url}/auth`, `${world.issuer.url}/token`];
    const { description } = securitySchemes['accessToken'] as { description: string };
    const flows = {
      authorizationCode: { authorizationUrl, tokenUrl, scopes: {} },
      clientCredentials: { tokenUrl, scopes: {} },
    };
    const accessToken = { type: 'oauth2', description, flows };
    const components = {
      ...file.components,
      securitySchemes: { ...securitySchemes, accessToken },
    };
    expect(JSON.parse(text)).toEqual({ ...file, components });
  });

  it('has the address of the server and the scope, and no endpoint where the issuer names none', async () => {
    const service = await world.start({
      PUBLIC_BASE_URL: 'https://orders.example.com',
      BASE_PATH: '/lookups',
      OAUTH_REQUIRED_SCOPE: 'lookups.read',
      OAUTH_ISSUER: 'http://127.0.0.1:9',
    });
    const { document } = await Contract.of(`${service.url}/lookups`);
    expect(document).toEqual({
      ...file,
      servers: [{ url: 'https://orders.example.com/lookups' }],
      security: [{ apiKey: [], accessToken: ['lookups.read'] }],
    });
  });

  it.each([
    {
      name: 'a required scope for persons and programs',
      requiredScope: 'lookups.read',
      personScopes: ['lookups.read'],
      programScopes: ['lookups.read'],
    },
    {
      name: 'openid for persons where no scope is required',
      requiredScope: '',
      personScopes: ['openid'],
      programScopes: [],
    },
  ])('offers $name', async ({ requiredScope, personScopes, programScopes }) => {
    Object.assign(world.issuer.metadata, { scopes_supported: ['openid'] });
    const service = await world.replica({ OAUTH_REQUIRED_SCOPE: requiredScope });
    const flows = async () => {
      const { document } = await Contract.of(service.url);
      return (document.components.securitySchemes['accessToken'] as { flows?: Flows }).flows;
    };
    await until(async () => (await flows()) !== undefined);
    const { authorizationCode, clientCredentials } = (await flows()) ?? {};
    expect(Object.keys(authorizationCode?.scopes ?? {})).toEqual(personScopes);
    expect(Object.keys(clientCredentials?.scopes ?? {})).toEqual(programScopes);
  });
});
type Flows = Record<string, { readonly scopes: object } | undefined>;

it('GET /docs is open, and loads everything from the service under its policy', async () => {
  const { status, headers, text } = await open('/docs');
  expect(status).toBe(200);
  const policy = headers.get('content-security-policy')?.split('; ');
  expect(policy).toEqual([
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    `connect-src 'self' ${world.issuer.url}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]);
  const files = [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, name]) => name ?? '');
  expect(files.length).toBeGreaterThan(4);
  for (const name of [...files, 'docs/oauth2-redirect.html', 'docs/oauth2-redirect.js'])
    expect((await open(`/${name}`)).status).toBe(200);
  expectProblem(await open('/docs/package.json'), 'not-found');
});

it('the page to which an issuer leads back cannot be framed', async () => {
  const { headers } = await open('/docs/oauth2-redirect.html');
  expect(headers.get('content-security-policy')).toBe(
    "default-src 'none'; script-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
});

it('/docs/favicon-32x32.png is the file of Swagger UI, byte for byte', async () => {
  const response = await fetch(`${world.service.url}/docs/favicon-32x32.png`);
  const original = readFileSync('node_modules/swagger-ui-dist/favicon-32x32.png');
  expect(Buffer.from(await response.arrayBuffer()).equals(original)).toBe(true);
});

it.each(['/docs', '/docs/swagger-ui-bundle.js', '/openapi.json', '/problems'])(
  '%s has an entity tag, and is 304 to it',
  async (path) => {
    const etag = (await open(path)).headers.get('etag') ?? '';
    const { status, text } = await open(path, { 'If-None-Match': etag });
    expect({ status, text }).toEqual({ status: 304, text: '' });
  },
);

it('GET /problems lists a page of each type, which says what happened and leads back', async () => {
  const { text } = await open('/problems');
  const links = [...text.matchAll(/<a href="\/problems\/([a-z-]+)">/g)].map(([, slug]) => slug);
  expect(links).toEqual(Object.keys(problemTypes));
  for (const [slug, { title, meaning, remedy }] of Object.entries(problemTypes)) {
    const page = await open(`/problems/${slug}`);
    expect(page.headers.get('content-type')).toBe(HTML);
    const words = page.text.replaceAll('&lt;', '<').replaceAll('&gt;', '>');
    for (const part of [`<h1>${title}</h1>`, meaning, ...remedy]) expect(words).toContain(part);
    expect(page.text).toContain('<a href="/problems">');
  }
});

it('docs/integrators.md names each problem type with its status', () => {
  const table = readFileSync('docs/integrators.md', 'utf8').matchAll(/^\| ([45]\d\d[\d, ]*) \| (`.*?`) \|/gm);
  const named = [...table].flatMap(([, statuses = '', types = '']) =>
    [...types.matchAll(/`([a-z-]+)`/g)].map(([, slug = '']) => ({ slug, statuses })),
  );
  expect(new Set(named.map(({ slug }) => slug))).toEqual(new Set(Object.keys(problemTypes)));
  for (const { slug, statuses } of named) expect(statuses).toContain(String(problemTypes[slug as ProblemSlug].status));
});

it.each([
  { path: '/problems/typo', status: 404, link: '/problems' },
  { path: '/problems/constructor', status: 404, link: '/problems' },
  { path: '/', status: 200, link: '/docs' },
])('$path is a page for a browser, and a problem document for a program', async ({ path, status, link }) => {
  for (const Accept of ['*/*', 'application/json']) {
    expectProblem(await open(path, { Accept }), 'not-found');
  }
  const page = await open(path, { Accept: BROWSER_ACCEPT });
  expect({ status: page.status, type: page.headers.get('content-type') }).toEqual({
    status,
    type: HTML,
  });
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(page.text).toContain(`<a href="${link}">`);
});
