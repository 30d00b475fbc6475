import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { type ProblemSlug, problemTypes } from '../../src/problems/problem-types.js';
import { Contract, type OpenApiDocument } from '../support/contract.js';
import { localWorld } from '../support/local-world.js';
import { expectProblem } from '../support/problem.js';
import { type Reply, exchange, fetchReply } from '../support/exchange.js';
import { requestTo } from '../support/reader.js';
import { until } from '../support/until.js';

const NO_CREDENTIALS = { 'Api-Key': undefined, Authorization: undefined };
/** The header Accept that browsers send. */
const BROWSER_ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const HTML = 'text/html; charset=utf-8';

const world = localWorld();
const openapiYaml = parse(readFileSync('src/documentation/openapi.yaml', 'utf8')) as OpenApiDocument;

const getWithoutCredentials = (path: string, headers: Record<string, string> = {}): Promise<Reply> =>
  world.get(path, { headers: { ...NO_CREDENTIALS, ...headers } });

describe('GET /openapi.json', () => {
  it('is openapi.yaml, with the endpoints of the issuer', async () => {
    const { headers, text } = await getWithoutCredentials('/openapi.json');
    expect(headers.get('content-type')).toBe('application/json');
    const { securitySchemes } = openapiYaml.components;
    const [authorizationUrl, tokenUrl] = [`${world.issuer.url}/auth`, `${world.issuer.url}/token`];
    const { description } = securitySchemes['accessToken'] as { description: string };
    const flows = {
      authorizationCode: { authorizationUrl, tokenUrl, scopes: {} },
      clientCredentials: { tokenUrl, scopes: {} },
    };
    const accessToken = { type: 'oauth2', description, flows };
    const components = {
      ...openapiYaml.components,
      securitySchemes: { ...securitySchemes, accessToken },
    };
    expect(JSON.parse(text)).toEqual({ ...openapiYaml, components });
  });

  it('names PUBLIC_BASE_URL, BASE_PATH and the required scope, but no endpoints if the issuer does not answer', async () => {
    const service = await world.startReplica({
      PUBLIC_BASE_URL: 'https://orders.example.com',
      BASE_PATH: '/lookups',
      OAUTH_REQUIRED_SCOPE: 'lookups.read',
      OAUTH_ISSUER: 'http://127.0.0.1:9',
    });
    const { document } = await Contract.fetch(`${service.url}/lookups`);
    expect(document).toEqual({
      ...openapiYaml,
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
      name: 'openid for persons if no scope is required',
      requiredScope: '',
      personScopes: ['openid'],
      programScopes: [],
    },
  ])('offers $name', async ({ requiredScope, personScopes, programScopes }) => {
    Object.assign(world.issuer.metadata, { scopes_supported: ['openid'] });
    const service = await world.startReadyReplica({ OAUTH_REQUIRED_SCOPE: requiredScope });
    const flows = async () => {
      const { document } = await Contract.fetch(service.url);
      return (document.components.securitySchemes['accessToken'] as { flows?: Flows }).flows;
    };
    await until(async () => (await flows()) !== undefined);
    const { authorizationCode, clientCredentials } = (await flows()) ?? {};
    expect(Object.keys(authorizationCode?.scopes ?? {})).toEqual(personScopes);
    expect(Object.keys(clientCredentials?.scopes ?? {})).toEqual(programScopes);
  });
});

describe('GET /openapi-3.0.json', () => {
  it('is the same contract in OpenAPI 3.0.3', async () => {
    const [newer, older] = await Promise.all(
      ['/openapi.json', '/openapi-3.0.json'].map((path) => getWithoutCredentials(path)),
    );
    expect(older?.headers.get('content-type')).toBe('application/json');
    const document = JSON.parse(newer?.text ?? '') as OpenApiDocument;
    // OpenAPI 3.0 has no `const`, so `"const":"x"` becomes `"enum":["x"]`
    const withoutConst = JSON.stringify(document).replaceAll(/"const":("[^"]*")/g, '"enum":[$1]');
    const expected = JSON.parse(withoutConst) as OpenApiDocument;
    expect(JSON.parse(older?.text ?? '')).toEqual({
      ...expected,
      openapi: '3.0.3',
      info: { ...expected.info, license: { name: expected.info.license.name } },
    });
  });

  it('names the required scope only if the endpoints of the issuer are known', async () => {
    const environment = { OAUTH_REQUIRED_SCOPE: 'lookups.read' };
    const [withEndpoints, withoutEndpoints] = [
      await world.startReadyReplica(environment),
      await world.startReplica({ ...environment, OAUTH_ISSUER: 'http://127.0.0.1:9' }),
    ];
    const security = async ({ url }: { url: string }) => {
      const { text } = await fetchReply(`${url}/openapi-3.0.json`);
      return (JSON.parse(text) as OpenApiDocument).security[0]?.['accessToken'];
    };
    await until(async () => (await security(withEndpoints))?.length === 1);
    expect(await security(withoutEndpoints)).toEqual([]);
  });
});

type Flows = Record<string, { readonly scopes: object } | undefined>;

it('GET /docs needs no credentials, and its Content-Security-Policy permits only files of the service', async () => {
  const { status, headers, text } = await getWithoutCredentials('/docs');
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
    expect((await getWithoutCredentials(`/${name}`)).status).toBe(200);
  expectProblem(await getWithoutCredentials('/docs/package.json'), 'not-found');
});

it('the page to which an issuer sends people back after a sign-in cannot be framed', async () => {
  const { headers } = await getWithoutCredentials('/docs/oauth2-redirect.html');
  expect(headers.get('content-security-policy')).toBe(
    "default-src 'none'; script-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
});

it('/docs/favicon-32x32.png is the file of Swagger UI, byte for byte', async () => {
  const response = await fetch(`${world.service.url}/docs/favicon-32x32.png`);
  const original = readFileSync('node_modules/swagger-ui-dist/favicon-32x32.png');
  expect(Buffer.from(await response.arrayBuffer())).toEqual(original);
});

it.each(['/docs', '/docs/swagger-ui-bundle.js', '/openapi.json', '/problems/not-found', '/'])(
  '%s has an entity tag, answers 304 to this tag, and makes a cache ask the service before each use',
  async (path) => {
    const { headers } = await getWithoutCredentials(path);
    expect(headers.get('cache-control')).toBe('no-cache'); // a new release changes the files at the same addresses
    const etag = headers.get('etag') ?? '';
    const { status, text } = await getWithoutCredentials(path, { 'If-None-Match': etag });
    expect({ status, text }).toEqual({ status: 304, text: '' });
  },
);

it.each(Object.entries(problemTypes))('/problems/%s says what happened and what to do', async (slug, type) => {
  const { headers, text } = await getWithoutCredentials(`/problems/${slug}`);
  expect(headers.get('content-type')).toBe(HTML);
  const { title, meaning, remedy } = type;
  for (const part of [`<h1>${title}</h1>`, meaning, ...remedy]) expect(text).toContain(part);
  expect([title, meaning, ...remedy].join()).not.toMatch(/[<&]/); // the texts are put into HTML unescaped
});

it.each(['typo', 'constructor'])('/problems/%s is not found, also for a browser', async (slug) =>
  expectProblem(await getWithoutCredentials(`/problems/${slug}`, { Accept: BROWSER_ACCEPT }), 'not-found'),
);

it('docs/integrators.md names each problem type with its status', () => {
  // Matches a row such as: | 404, 405 | `not-found`, `method-not-allowed` | correct path or method |
  const table = readFileSync('docs/integrators.md', 'utf8').matchAll(/^\| ([45]\d\d[\d, ]*) \| (`.*?`) \|/gm);
  const named = [...table].flatMap(([, statuses = '', types = '']) =>
    [...types.matchAll(/`([a-z-]+)`/g)].map(([, slug = '']) => ({ slug, statuses })),
  );
  expect(new Set(named.map(({ slug }) => slug))).toEqual(new Set(Object.keys(problemTypes)));
  for (const { slug, statuses } of named) expect(statuses).toContain(String(problemTypes[slug as ProblemSlug].status));
});

describe('the page at the address of the service', () => {
  it.each([
    { what: 'a browser', Accept: BROWSER_ACCEPT },
    { what: 'a program', Accept: 'application/json' },
    { what: 'a program that takes anything', Accept: '*/*' },
    { what: 'a balancer that sends an empty Accept', Accept: '' },
  ])('answers 200 to $what, and links to the documentation', async ({ Accept }) => {
    const { status, headers, text } = await getWithoutCredentials('/', { Accept });
    expect([status, headers.get('content-type')]).toEqual([200, HTML]);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    const links = [...text.matchAll(/<a href="([^"]+)">([^<]+)</g)].map(([, path, name]) => [path, name]);
    expect(links).toEqual([
      ['/docs', 'Documentation'],
      ['/openapi.json', 'OpenAPI 3.1'],
      ['/openapi-3.0.json', expect.stringMatching(/^OpenAPI 3\.0,/)],
    ]);
  });

  it('answers 200 to GET and HEAD without Accept, and refuses POST', async () => {
    const statuses: number[] = [];
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST']) {
      // An answer to HEAD names a length, but has no body. So `exchange` ends only when the connection closes
      const request = requestTo('/', { Connection: 'close' }, method);
      const { responses } = await exchange(world.service.port, request);
      statuses.push(responses[0]?.status ?? 0);
    }
    expect(statuses).toEqual([200, 200, 204, 405]);
  });

  it('is at / and at BASE_PATH', async () => {
    const service = await world.startReplica({ BASE_PATH: '/lookups' });
    for (const path of ['/', '/?from=a-balancer', '/lookups']) {
      const { status, text } = await world.get(path, { service, headers: NO_CREDENTIALS });
      expect(status).toBe(200);
      expect(text).toContain('<a href="/lookups/docs">');
    }
    for (const path of ['/lookups/', '/x']) expect((await world.get(path, { service })).status).toBe(404);
  });

  it('has no links if DOCUMENTATION is off', async () => {
    const service = await world.startReplica({ DOCUMENTATION: 'off' });
    const { status, text } = await world.get('/', { service, headers: NO_CREDENTIALS });
    expect([status, text.includes('href')]).toEqual([200, false]);
  });
});
