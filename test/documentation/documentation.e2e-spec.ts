import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { problemTypes } from '../../src/problems/problem-types.js';
import { ALL_PATHS } from '../support/paths.js';
import { expectProblem } from '../support/problem.js';
import { testWorld } from '../support/test-world.js';
import type { Reply } from '../support/raw.js';

const OPEN = { 'Api-Key': undefined, Authorization: undefined };

const world = testWorld({ OAUTH_REQUIRED_SCOPE: 'lookups.read' });

const open = (path: string): Promise<Reply> => world.get(path, { headers: OPEN });

describe('GET /openapi.json', () => {
  it('describes the three operations and where to sign in', () => {
    const { document } = world.contract;
    expect(Object.keys(document.paths)).toEqual(ALL_PATHS);
    expect(JSON.stringify(document.paths).match(/"name":"If-None-Match"/g)).toHaveLength(3);
    const [authorizationUrl, tokenUrl] = [`${world.issuer.url}/auth`, `${world.issuer.url}/token`];
    const scopes = { 'lookups.read': 'Needed for all operations; select none if it is a role' };
    expect(document.components.securitySchemes['accessToken']?.flows).toEqual({
      authorizationCode: { authorizationUrl, tokenUrl, scopes },
      clientCredentials: { tokenUrl, scopes },
    });
  });

  it('describes every kind of answer: each reply of World.get is held against it, here one of each status', async () => {
    const token = await world.issuer.token({ claims: { scope: 'lookups.read' } });
    const good = { Authorization: `Bearer ${token}` };
    for (const path of ALL_PATHS) {
      const answer = await world.get(path, { headers: good });
      const etag = answer.headers.get('etag') ?? '';
      const replies = [
        answer,
        await world.get(path, { headers: { ...good, 'If-None-Match': etag } }),
        await open(path),
        await world.get(path),
        await world.get(`${path}?${'x'.repeat(8_000)}`, { headers: good }),
        await world.get(path, { headers: { ...good, 'X-Large': 'x'.repeat(17_000) } }),
      ];
      expect(replies.map(({ status }) => status)).toEqual([200, 304, 401, 403, 414, 431]);
    }
  });
});

it('GET /docs is open, and loads everything from the service under its policy', async () => {
  const { status, headers, text } = await open('/docs');
  expect(status).toBe(200);
  expect(headers.get('content-security-policy')).toBe(
    `default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self' ${world.issuer.url}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
  const files = [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, file]) => file ?? '');
  expect(files.length).toBeGreaterThan(4);
  for (const file of [...files, 'docs/oauth2-redirect.html', 'docs/oauth2-redirect.js'])
    expect((await open(`/${file}`)).status).toBe(200);
  expectProblem(await open('/docs/package.json'), 'not-found');
});

it.each(['/docs', '/docs/swagger-ui-bundle.js', '/openapi.json', '/problems'])(
  '%s has an entity tag, and is 304 to it',
  async (path) => {
    const etag = (await open(path)).headers.get('etag') ?? '';
    const again = await world.get(path, { headers: { ...OPEN, 'If-None-Match': etag } });
    expect({ status: again.status, text: again.text }).toEqual({ status: 304, text: '' });
  },
);

it('GET /problems lists a page of each type by its word, and the pages lead back', async () => {
  const { text } = await open('/problems');
  const addresses = [...text.matchAll(/<li><a href="([^"]+)">([a-z-]+)</g)];
  const slugs = Object.keys(problemTypes);
  expect(addresses.map(([, ...found]) => found)).toEqual(
    slugs.map((slug) => [`/problems/${slug}`, slug]),
  );
  for (const [slug, { title, status }] of Object.entries(problemTypes)) {
    const page = await open(`/problems/${slug}`);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.text).toContain(`<main><h1>${title}</h1>`);
    expect(page.text).toContain('<a href="/problems">');
    const sample = /<pre>([^]*)<\/pre>/.exec(page.text)?.[1]?.replaceAll('&#34;', '"') ?? '';
    expect(JSON.parse(sample)).toMatchObject({ type: `/problems/${slug}`, title, status });
  }
});

it('the pages say, as docs/integrators.md does, whether it helps to send the request again', async () => {
  const rows = readFileSync('docs/integrators.md', 'utf8').matchAll(
    /^\| [45]\d\d.*? \| (.*?) \| .* \| (.*) \|$/gm,
  );
  const seen: string[] = [];
  for (const [, types = '', again = ''] of rows)
    for (const [, slug] of types.matchAll(/`([a-z-]+)`/g)) {
      const { text } = await open(`/problems/${slug}`);
      const [, first = ''] = /<h2>Try again\?<\/h2><p>(\w+)/.exec(text) ?? [];
      const word = again.replace(/^after/, 'yes').split(/\W/)[0];
      expect([slug, first.toLowerCase()]).toEqual([slug, word]);
      seen.push(slug ?? '');
    }
  expect(seen.toSorted()).toEqual(Object.keys(problemTypes).toSorted());
});

it.each([
  ['/problems/constructor', 404],
  ['/', 200],
])('%s is a page for a browser, and a problem document for a program', async (path, status) => {
  expectProblem(await open(path), 'not-found');
  const Accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
  const page = await world.get(path, { headers: { ...OPEN, Accept } });
  expect({ status: page.status, type: page.headers.get('content-type') }).toEqual({
    status,
    type: 'text/html; charset=utf-8',
  });
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(page.text).toContain('<a href="/docs">');
});
