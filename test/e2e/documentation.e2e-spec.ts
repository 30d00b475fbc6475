import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { problemTypes } from '../../src/problems/problem-types.js';
import { expectProblem } from '../support/problem.js';
import { OPERATIONS, type Reply, World } from '../support/world.js';

interface Media {
  readonly schema: object;
}
interface Document {
  readonly openapi: string;
  readonly paths: Record<string, { get: { responses: Record<string, { content?: Record<string, Media> }> } }>;
  readonly components: {
    readonly schemas: Record<string, object>;
    readonly securitySchemes: Record<string, { flows?: { authorizationCode: { authorizationUrl: string; tokenUrl: string } } }>;
  };
}

let world: World;
let document: Document;
const OPEN = { 'Api-Key': undefined, Authorization: undefined };

beforeAll(async () => {
  world = await World.create({ OAUTH_REQUIRED_SCOPE: 'lookups.read' });
  document = JSON.parse((await world.get('/openapi.json', { headers: OPEN })).text) as Document;
});
afterAll(() => world?.close());

describe('GET /openapi.json', () => {
  it('describes the three operations and where to sign in', () => {
    expect({ version: document.openapi, paths: Object.keys(document.paths).toSorted() }).toEqual({
      version: '3.1.0',
      paths: [...OPERATIONS].toSorted(),
    });
    expect(document.components.securitySchemes['accessToken']?.flows?.authorizationCode).toMatchObject({
      authorizationUrl: `${world.issuer.url}/auth`,
      tokenUrl: `${world.issuer.url}/token`,
    });
  });

  it('passes the recommended rules of a linter', async () => {
    const problems = await lintFromString({ source: JSON.stringify(document), config: await createConfig({ extends: ['recommended'] }) });
    expect(problems.map(({ ruleId, message, location }) => ({ ruleId, message, at: location[0]?.pointer }))).toEqual([]);
  });

  it('agrees with what is really answered', async () => {
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    ajv.addSchema({ $id: 'document', components: document.components });
    const token = await world.issuer.token({ claims: { scope: 'lookups.read' } });
    const good = { Authorization: `Bearer ${token}` };
    const seen = new Map<string, number>();
    const check = (path: string, { status, headers, text }: Reply): void => {
      const described = document.paths[path]?.get.responses[String(status)];
      if (!described) throw new Error(`${path} answers ${status}, which the document does not describe`);
      const media = described.content?.[headers.get('content-type') ?? ''];
      if (text !== '' || described.content) {
        const validate = ajv.compile(
          JSON.parse(JSON.stringify(media?.schema).replaceAll('#/components', 'document#/components')) as object,
        );
        expect({ path, status, valid: validate(JSON.parse(text)), errors: validate.errors }).toEqual({
          path,
          status,
          valid: true,
          errors: null,
        });
      }
      seen.set(`${path} ${status}`, (seen.get(`${path} ${status}`) ?? 0) + 1);
    };
    for (const path of OPERATIONS) {
      const answer = await world.get(path, { headers: good });
      check(path, answer);
      check(path, await world.get(path, { headers: { ...good, 'If-None-Match': answer.headers.get('etag') ?? '' } }));
      check(path, await world.get(path, { headers: OPEN }));
      check(path, await world.get(path, { headers: { 'Api-Key': 'wrong' } }));
      check(path, await world.get(path));
      check(path, await world.get(`${path}?${'x'.repeat(8_000)}`, { headers: good }));
      check(path, await world.get(path, { headers: { ...good, 'X-Large': 'x'.repeat(17_000) } }));
    }
    const codes = OPERATIONS[2];
    for (const query of ['?codeType=SAMPLE-STATUS', '?code=none', '?codeType=', '?x=1'])
      check(codes, await world.get(codes + query, { headers: good }));
    expect([...seen.keys()].map((name) => name.split(' ')[1]).filter((status, at, all) => all.indexOf(status) === at)).toEqual([
      '200',
      '304',
      '401',
      '403',
      '414',
      '431',
      '400',
    ]);
  });
});

describe('GET /docs', () => {
  it('is open, and loads everything from the service under its policy', async () => {
    const { status, headers, text } = await world.get('/docs', { headers: OPEN });
    expect(status).toBe(200);
    expect(headers.get('content-security-policy')).toBe(
      `default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self' ${world.issuer.url}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
    const files = [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, file]) => file ?? '');
    expect(files.length).toBeGreaterThan(4);
    for (const file of [...files, 'docs/oauth2-redirect.html', 'docs/oauth2-redirect.js'])
      expect((await world.get(`/${file}`, { headers: OPEN })).status).toBe(200);
    expectProblem(await world.get('/docs/package.json', { headers: OPEN }), 'not-found');
  });
});

describe('GET /problems', () => {
  it.each(Object.keys(problemTypes))('explains %s to people and to programs', async (slug) => {
    const { title, status } = problemTypes[slug as keyof typeof problemTypes];
    const page = await world.get(`/problems/${slug}`, { headers: { ...OPEN, Accept: 'text/html,*/*' } });
    expect({ status: page.status, type: page.headers.get('content-type') }).toEqual({ status: 200, type: 'text/html; charset=utf-8' });
    expect(page.text).toContain(`<h1>${title}</h1>`);
    const json = JSON.parse((await world.get(`/problems/${slug}`, { headers: OPEN })).text) as object;
    expect(json).toMatchObject({ type: `/problems/${slug}`, title, status });
  });

  it('lists all types, and knows no others', async () => {
    const list = JSON.parse((await world.get('/problems', { headers: OPEN })).text) as { problems: unknown[] };
    expect(list.problems).toHaveLength(Object.keys(problemTypes).length);
    expectProblem(await world.get('/problems/constructor', { headers: OPEN }), 'not-found');
  });
});
