// Compares openapi.yaml with the service's constants and answers. World.get compares the answers of all other tests.
import 'reflect-metadata';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestExpressApplication } from '@nestjs/platform-express';
import * as fc from 'fast-check';
import { parse } from 'yaml';
import { createApplication } from '../../src/bootstrap/create-application.js';
import { readConfiguration } from '../../src/configuration/read-configuration.js';
import { CodesService } from '../../src/lookups/codes.service.js';
import {
  HEADERS_TIMEOUT_MS,
  LIMITS,
  MAX_FILTER_CHARACTERS,
  MAX_ISSUES,
  REQUEST_TIMEOUT_MS,
} from '../../src/problems/limits.js';
import { type ProblemSlug, problemTypes } from '../../src/problems/problem-types.js';
import { Contract, type OpenApiDocument } from '../support/contract.js';
import type { LocalService } from '../support/local-service.js';
import { localWorld } from '../support/local-world.js';
import { ALL_PATHS, PATHS } from '../support/paths.js';
import { readText } from '../support/program.js';
import { type Reply, exchange, fetchReply } from '../support/exchange.js';
import { until } from '../support/until.js';

const SCOPE = 'lookups.read';
const world = localWorld({ environment: { OAUTH_REQUIRED_SCOPE: SCOPE } });
const openapiYaml = parse(readText('src/documentation/openapi.yaml')) as OpenApiDocument;
const contract = new Contract(openapiYaml);
/** The texts with which the interface document describes the filters. */
const FILTERS = {
  codeType: 'Type of communication code record to be retrieved.',
  code: 'Communication code record to be retrieved.',
};
/** The address of an issuer that does not answer. */
const NO_ISSUER = 'http://127.0.0.1:9';
const slugs = Object.keys(problemTypes) as ProblemSlug[];

/** Returns the headers of a caller who may read the lookups. The token of the world lacks SCOPE. */
async function goodHeaders(): Promise<Record<string, string>> {
  const token = await world.issuer.createToken({ claims: { scope: SCOPE } });
  return { 'Api-Key': world.key.key, Authorization: `Bearer ${token}` };
}

async function getWithScope(path: string, headers: Record<string, string> = {}): Promise<Reply> {
  return world.get(path, { headers: { ...(await goodHeaders()), ...headers } });
}

it('openapi.yaml has the operations, their parameters and the version of the service', () => {
  expect(Object.keys(openapiYaml.paths)).toEqual(ALL_PATHS);
  for (const path of ALL_PATHS) {
    const filters = path === PATHS.communicationCodes ? Object.entries(FILTERS) : [];
    const expected = filters.map(([name, description]) => ({
      name,
      description: expect.stringContaining(description),
    }));
    const ifNoneMatch = { name: 'If-None-Match' };
    expect(contract.parameters(path)).toMatchObject([...expected, ifNoneMatch]);
  }
  const { version } = JSON.parse(readText('package.json')) as { version: string };
  expect(openapiYaml.info.version).toBe(version);
});

it('openapi.yaml has an example of each problem type that an operation answers, with its status and title', () => {
  const notOfOperations = ['not-found', 'method-not-allowed'];
  for (const path of ALL_PATHS) {
    const examples = contract.problemExamples(path);
    const expected = slugs.filter(
      (slug) => !notOfOperations.includes(slug) && (slug !== 'invalid-query' || path === PATHS.communicationCodes),
    );
    expect(new Set(examples.map(({ slug }) => slug))).toEqual(new Set(expected));
    for (const { status, slug, value } of examples) {
      const { title, status: ownStatus } = problemTypes[slug as ProblemSlug];
      expect(value).toMatchObject({ type: `/problems/${slug}`, title, status });
      expect(status).toBe(ownStatus);
      const schema = { $ref: '#/components/schemas/ProblemDetails' };
      expect([slug, contract.findFault(schema, value)]).toEqual([slug, undefined]);
    }
  }
});

it('openapi.yaml names every problem type, and no other', () => {
  const { ProblemDetails } = openapiYaml.components.schemas as Record<
    string,
    { properties: { type: { description: string } } }
  >;
  const list = /whose last segment is one of (.*?)\./.exec(ProblemDetails?.properties.type.description ?? '');
  expect(list?.[1]?.split(/, | and /)).toEqual(slugs);
});

it('openapi.yaml has the limits that the service keeps', () => {
  const limits = [
    `headers together | ${LIMITS.headers} | 431 |`,
    `| ${LIMITS.filter} (Unicode code points) | 400 |`,
    `headers | ${HEADERS_TIMEOUT_MS / 1000} s | 408 |`,
    `body | ${REQUEST_TIMEOUT_MS / 1000} s | the connection is closed`,
  ];
  const description = openapiYaml.info.description.replaceAll(/\s+/g, ' ');
  for (const limit of limits) expect(description).toContain(limit);
  const { schemas } = openapiYaml.components;
  expect(schemas).toMatchObject({
    Filter: { maxLength: MAX_FILTER_CHARACTERS },
    Code: { maxLength: MAX_FILTER_CHARACTERS },
    CommunicationCodeRecord: {
      properties: {
        codeType: { maxLength: MAX_FILTER_CHARACTERS },
        code: { maxLength: MAX_FILTER_CHARACTERS },
        description: { maxLength: 1_024 },
      },
    },
    ProblemDetails: { properties: { issues: { maxItems: MAX_ISSUES } } },
  });
});

it('openapi.yaml names the licence as SPDX does, so that generated Python packages can be installed', () => {
  const { name, identifier } = openapiYaml.info.license;
  expect(name).toBe(identifier);
});

// With additionalProperties, OpenAPI Generator before 7.15 makes Java classes that extend HashMap
it('openapi.yaml never uses additionalProperties, with which getters of generated Java clients return nothing', () => {
  expect(JSON.stringify(openapiYaml)).not.toContain('additionalProperties');
});

it('openapi.yaml limits no list of codes by an enum, so that a new code breaks no generated client', () => {
  const CODE_SCHEMAS = /^(?:\w+SupportedValues|CommunicationCode\w+|Code|Filter)$/;
  const schemas = Object.entries(openapiYaml.components.schemas).filter(([name]) => CODE_SCHEMAS.test(name));
  expect(schemas).toHaveLength(6); // a schema with another name would not be tested
  expect(JSON.stringify(schemas)).not.toMatch(/"(?:enum|const)"/);
});

describe('the schema of a filter', () => {
  const [codeType] = contract.parameters(PATHS.communicationCodes);
  const schema = codeType?.schema ?? {};
  let headers: Record<string, string>;
  beforeAll(async () => {
    headers = await goodHeaders();
  });

  async function expectAgreement(value: string): Promise<void> {
    const target = `${PATHS.communicationCodes}?codeType=${encodeURIComponent(value)}`;
    const { status } = await world.get(target, { headers });
    expect({ value, status }).toEqual({ value, status: contract.findFault(schema, value) ? 400 : 200 });
  }

  it.each([
    { name: 'an empty text', value: '' },
    { name: 'spaces', value: '  ' },
    { name: 'a NUL', value: 'a\0' },
    { name: 'a line feed at the end', value: 'a\n' },
    { name: 'DEL', value: '\x7f' },
    { name: 'a control character beyond ASCII', value: 'a\x85' },
    { name: 'a no-break space, the first character after the control characters', value: '\xa0' },
    { name: 'a line separator, which is no control character', value: 'a\u2028' },
    { name: 'as many characters as are allowed', value: '𝄞'.repeat(MAX_FILTER_CHARACTERS) },
    { name: 'one character more than is allowed', value: 'a'.repeat(MAX_FILTER_CHARACTERS + 1) },
  ])('agrees with the service on $name', ({ value }) => expectAgreement(value));

  it('agrees with the service on any text', () =>
    fc.assert(fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 300 }), expectAgreement), {
      numRuns: 200,
    }));
});

it.each([
  { name: 'its status', change: { status: 418 }, fault: 'the status is not described' },
  { name: 'an additional header', headers: { 'X-New': 'a' }, fault: 'x-new is not described' },
  { name: 'a missing header', headers: { ETag: null }, fault: 'ETag is missing' },
  { name: 'the form of a header', headers: { ETag: 'W/"a"' }, fault: 'ETag is W/"a"' },
  { name: 'its content type', headers: { 'Content-Type': 'text/html' }, fault: 'text/html' },
  { name: 'the form of its body', change: { text: '[]' }, fault: 'must be object' },
])(
  'the check of a reply finds that the reply differs from openapi.yaml in $name',
  async ({ change, headers = {}, fault }) => {
    const path = PATHS.orderUpdate;
    const reply = await getWithScope(path);
    const changed = { ...reply, ...change, headers: new Headers(reply.headers) };
    for (const [name, value] of Object.entries(headers)) {
      changed.headers.delete(name);
      if (value !== null) changed.headers.set(name, value);
    }
    expect(() => contract.check('GET', path, changed)).toThrow(fault);
  },
);

it('without CORS_ORIGINS no answer has a CORS header', async () => {
  const browser = { Origin: 'https://portal.example.com', 'Access-Control-Request-Method': 'GET' };
  const headers = { ...(await goodHeaders()), ...browser };
  for (const method of ['GET', 'OPTIONS']) {
    const reply = await world.get(PATHS.orderUpdate, { headers, method });
    const names = [...reply.headers.keys()];
    expect(names.filter((name) => /^(?:access-control-.*|vary)$/.test(name))).toEqual([]);
  }
});

it('If-None-Match may contain any text', async () => {
  for (const tag of ['', 'x', '"', ',,', '"a", W/"b"', '\x80ÿ', 'x'.repeat(9_000)]) {
    for (const path of ALL_PATHS) expect((await getWithScope(path, { 'If-None-Match': tag })).status).toBe(200);
  }
});

describe('an operation', () => {
  /** A service with a rate limit of one request a minute. */
  let limited: LocalService;
  /** A service whose issuer does not answer. */
  let withoutIssuer: LocalService;
  /** A service whose lookups throw an error. */
  let broken: NestExpressApplication;
  /** The answers, by path, to requests whose headers never end. The service sends them after HEADERS_TIMEOUT_MS. */
  let unfinished: Map<string, Promise<Reply>>;

  beforeAll(async () => {
    unfinished = new Map(ALL_PATHS.map((path) => [path, sendUnfinishedRequest(path)]));
    [limited, withoutIssuer, broken] = await Promise.all([
      world.startReadyReplica({ RATE_LIMIT_PER_MINUTE: '1' }),
      world.startReplica({ OAUTH_ISSUER: NO_ISSUER }),
      startBrokenService(),
    ]);
  });
  afterAll(() => broken?.close());

  interface StatusCase {
    readonly status: number;
    readonly reply: (path: string) => Promise<Reply>;
  }
  const STATUS_CASES: readonly StatusCase[] = [
    { status: 200, reply: (path) => getWithScope(path) },
    { status: 304, reply: (path) => getWithScope(path, { 'If-None-Match': '*' }) },
    // If a header is sent twice, Node.js joins the two values by a comma
    { status: 400, reply: (path) => getWithScope(path, { 'Api-Key': 'a, b' }) },
    { status: 401, reply: (path) => world.get(path, { headers: { 'Api-Key': 'wrong', Authorization: 'wrong' } }) },
    { status: 403, reply: (path) => world.get(path) },
    { status: 408, reply: async (path) => (await unfinished.get(path)) as Reply },
    { status: 429, reply: (path) => replyBeyondRateLimit(limited, path) },
    { status: 431, reply: (path) => world.get(path, { headers: { 'X-Large': 'x'.repeat(17_000) } }) },
    { status: 500, reply: (path) => replyOfBrokenService(broken, path) },
    { status: 503, reply: (path) => replyWithoutSigningKeys(withoutIssuer, path) },
  ];

  describe.each(ALL_PATHS)('%s', (path) => {
    it.each(STATUS_CASES)('answers $status as openapi.yaml describes', async ({ status, reply }) => {
      const found = await reply(path);
      expect(found.status).toBe(status);
      contract.check('GET', path, found);
    });

    it('answers every status that openapi.yaml lists for it', () => {
      const described = Object.keys(contract.operation(path)?.responses ?? {}).map(Number);
      expect(described).toEqual(STATUS_CASES.map(({ status }) => status));
    });
  });
});

async function sendUnfinishedRequest(path: string): Promise<Reply> {
  const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\n`;
  const { responses } = await exchange(world.service.port, request, { answers: 1 });
  return responses[0] as Reply;
}

async function startBrokenService(): Promise<NestExpressApplication> {
  const settings = {
    DATABASE_URL: world.database.urlOf('order_lookup_service'),
    ...world.issuer.environment,
    LOG_LEVEL: 'silent',
  };
  const app = await createApplication(readConfiguration(settings));
  const fail = () => {
    throw new Error('a fault of the service');
  };
  const broken = { getSupportedValues: fail, getCommunicationCodes: fail } satisfies Partial<CodesService>;
  Object.assign(app.get(CodesService), broken);
  await app.listen(0, '127.0.0.1');
  return app;
}

/** Calls until the answer is not 200, and returns this answer. */
async function replyBeyondRateLimit(limited: LocalService, path: string): Promise<Reply> {
  const headers = await goodHeaders();
  for (;;) {
    const reply = await world.get(path, { headers, service: limited });
    if (reply.status !== 200) return reply;
  }
}

async function replyOfBrokenService(broken: NestExpressApplication, path: string): Promise<Reply> {
  const url = (await broken.getUrl()) + path;
  const headers = await goodHeaders();
  return replyThatFits(
    () => fetchReply(url, { headers }),
    ({ status }) => status === 500,
  );
}

async function replyWithoutSigningKeys(withoutIssuer: LocalService, path: string): Promise<Reply> {
  const token = await world.issuer.createToken({ claims: { iss: NO_ISSUER } });
  const headers = { Authorization: `Bearer ${token}` };
  return replyThatFits(
    () => world.get(path, { headers, service: withoutIssuer }),
    ({ text }) => text.includes('No signing keys of the issuer'), // without API keys, the 503 has another text
  );
}

/** Calls until an answer fits. The first answers of a new service differ, because it has not read the API keys yet. */
async function replyThatFits(ask: () => Promise<Reply>, fits: (reply: Reply) => boolean): Promise<Reply> {
  await until(async () => fits(await ask()));
  return ask();
}
