import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { problemTypes } from '../../src/problems/problem-types.js';
import type { OpenApiDocument } from '../support/contract.js';
import { expectProblem } from '../support/problem.js';
import { ALL_PATHS } from '../support/paths.js';
import { World } from '../support/world.js';

let world: World;
let document: OpenApiDocument;
const OPEN = { 'Api-Key': undefined, Authorization: undefined };

beforeAll(async () => {
  world = await World.create({ OAUTH_REQUIRED_SCOPE: 'lookups.read' });
  ({ document } = world.contract);
});
afterAll(() => world?.close());

describe('GET /openapi.json', () => {
  it('describes the three operations and where to sign in', () => {
    expect({ version: document.openapi, paths: Object.keys(document.paths).toSorted() }).toEqual({
      version: '3.1.0',
      paths: [...ALL_PATHS].toSorted(),
    });
    const [authorizationUrl, tokenUrl] = [`${world.issuer.url}/auth`, `${world.issuer.url}/token`];
    const scopes = { 'lookups.read': 'Needed for all operations' };
    expect(document.components.securitySchemes['accessToken']?.flows).toEqual({
      authorizationCode: { authorizationUrl, tokenUrl, scopes },
      clientCredentials: { tokenUrl, scopes },
    });
  });

  it('limits texts as the database does', async () => {
    const limits = await world.database.query<{ name: string; most: number }>(
      `select conrelid::regclass || '.' || attname as name, substring(pg_get_constraintdef(c.oid) from 'is_clean[(].*, ([0-9]+)[)]')::int as most
       from pg_constraint c join pg_attribute a on attrelid = conrelid and attnum = any (conkey) where contype = 'c' and conrelid::regclass::text in ('code_list_value', 'communication_code')`,
    );
    const inDatabase = Object.fromEntries(
      limits.filter(({ most }) => most > 0).map(({ name, most }) => [name, most]),
    );
    const { CommunicationCodeRecord, OrderUpdateSupportedValues } = document.components.schemas as {
      CommunicationCodeRecord: { properties: Record<string, { maxLength: number }> };
      OrderUpdateSupportedValues: { properties: Record<string, { items: { maxLength: number } }> };
    };
    const { codeType, code, description } = CommunicationCodeRecord.properties;
    expect({
      'communication_code.code_type': codeType?.maxLength,
      'communication_code.code': code?.maxLength,
      'communication_code.description': description?.maxLength,
      'code_list_value.value': OrderUpdateSupportedValues.properties['orderType']?.items.maxLength,
    }).toEqual(inDatabase);
  });

  it('describes every kind of answer: each reply of World.get is held against it, here one of each status', async () => {
    const good = {
      Authorization: `Bearer ${await world.issuer.token({ claims: { scope: 'lookups.read' } })}`,
    };
    const statuses = new Set<number>();
    for (const path of ALL_PATHS) {
      const answer = await world.get(path, { headers: good });
      const replies = [
        answer,
        await world.get(path, {
          headers: { ...good, 'If-None-Match': answer.headers.get('etag') ?? '' },
        }),
        await world.get(path, { headers: OPEN }),
        await world.get(path, { headers: { 'Api-Key': 'wrong' } }),
        await world.get(path),
        await world.get(`${path}?${'x'.repeat(8_000)}`, { headers: good }),
        await world.get(path, { headers: { ...good, 'X-Large': 'x'.repeat(17_000) } }),
        await world.get(`${path}?%`, { headers: good }),
      ];
      for (const { status } of replies) statuses.add(status);
    }
    expect([...statuses]).toEqual([200, 304, 401, 403, 414, 431, 400]);
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

describe('open pages', () => {
  it.each(['/docs', '/docs/swagger-ui-bundle.js', '/docs/docs.css', '/openapi.json', '/problems'])(
    '%s has an entity tag, and is 304 to it',
    async (path) => {
      const page = await world.get(path, { headers: OPEN });
      const etag = page.headers.get('etag') ?? '';
      expect({ status: page.status, etag }).toEqual({
        status: 200,
        etag: expect.stringMatching(/^"[\w-]{22}"$/),
      });
      const again = await world.get(path, { headers: { ...OPEN, 'If-None-Match': etag } });
      expect({ status: again.status, text: again.text, etag: again.headers.get('etag') }).toEqual({
        status: 304,
        text: '',
        etag,
      });
    },
  );

  it('say that they vary where they do', async () => {
    for (const path of ['/problems', '/problems/not-found'])
      for (const Accept of ['text/html', 'application/json'])
        expect((await world.get(path, { headers: { ...OPEN, Accept } })).headers.get('vary')).toBe(
          'Accept',
        );
  });
});

describe('GET /problems', () => {
  it.each(Object.keys(problemTypes))('explains %s to people and to programs', async (slug) => {
    const { title, status } = problemTypes[slug as keyof typeof problemTypes];
    const page = await world.get(`/problems/${slug}`, {
      headers: { ...OPEN, Accept: 'text/html,*/*' },
    });
    expect({ status: page.status, type: page.headers.get('content-type') }).toEqual({
      status: 200,
      type: 'text/html; charset=utf-8',
    });
    expect(page.text).toContain(`<h1>${title}</h1>`);
    const json = JSON.parse(
      (await world.get(`/problems/${slug}`, { headers: OPEN })).text,
    ) as object;
    expect(json).toMatchObject({ type: `/problems/${slug}`, title, status });
  });

  it('lists all types, and knows no others', async () => {
    const list = JSON.parse((await world.get('/problems', { headers: OPEN })).text) as {
      problems: unknown[];
    };
    expect(list.problems).toHaveLength(Object.keys(problemTypes).length);
    expectProblem(await world.get('/problems/constructor', { headers: OPEN }), 'not-found');
  });
});
