// Tests that each variable of .env.example has an effect: its check in ROWS fails if the service ignores the variable.
// For the variables without a row, TESTED_ELSEWHERE names a test file that has such a check.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Collector } from '../support/collector.js';
import { type Reply, fetchReply } from '../support/exchange.js';
import { PATHS } from '../support/paths.js';
import { readText } from '../support/program.js';
import { findFreePort } from '../support/ports.js';
import type { RunningService } from '../support/running-service.js';
import { processWorld } from '../support/test-world.js';

const TESTED_ELSEWHERE: Record<string, readonly string[]> = {
  'test/following/following.e2e-spec.ts': ['DATABASE_URL'],
  'test/administration/migrate/up.e2e-spec.ts': ['ORDER_LOOKUP_PERSON'],
  'test/database/password.e2e-spec.ts': ['DATABASE_URL_FILE'],
  'test/auth/settings.e2e-spec.ts': [
    'OAUTH_CLIENTS',
    'OAUTH_REQUIRED_SCOPE',
    'OAUTH_TOKEN_TYPE',
    'RATE_LIMIT_PER_MINUTE',
  ],
  'test/auth/keys.e2e-spec.ts': ['API_KEY_MAX_AGE_SECONDS'],
  'test/http/requests.e2e-spec.ts': ['CORS_ORIGINS', 'TRUSTED_PROXY_HOPS'],
  'test/management/draining.e2e-spec.ts': ['DRAIN_SECONDS', 'KEEP_ALIVE_SECONDS'],
  'test/telemetry/tracing.e2e-spec.ts': ['LOG_LEVEL'],
  'src/configuration/read-configuration.spec.ts': ['OAUTH_ALLOW_HTTP'],
  'src/telemetry/tracing.spec.ts': ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_SDK_DISABLED'],
};
/**
 * The service fetches no metadata from this issuer, because its URL begins with http and is not a loopback address. So
 * all signing keys come from OAUTH_JWKS_URI.
 */
const ISSUER = 'http://0.0.0.0:1';
const AUDIENCE = 'https://other.example';
const LOOKUP = `/base${PATHS.orderUpdate}`;
/** The traces of callers, to which a service adds a span. */
const TRACE_IDS = Array.from({ length: 5 }, () => randomBytes(16).toString('hex'));

const collector = await Collector.start();
const world = processWorld({ replicas: 0 });
/** A service with the values of all rows. */
let service: RunningService;
const values: Record<string, string> = {};

const tokenFor = (claims: Record<string, string>): Promise<string> =>
  world.issuer.createToken({ claims: { iss: ISSUER, aud: AUDIENCE, ...claims } });
async function ask(path: string, claims: Record<string, string> = {}): Promise<Reply> {
  const headers = { 'Api-Key': world.key.key, Authorization: await tokenFor(claims) };
  return fetchReply(service.url + path, { headers });
}
async function statusOf(path: string, claims: Record<string, string> = {}): Promise<number> {
  const { status } = await ask(path, claims);
  return status;
}

/**
 * Asserts that only requests with `traceparent` have a span. If the service used the default of OTEL_TRACES_SAMPLER or
 * of OTEL_TRACES_SAMPLER_ARG, the other requests of this file would have a span, too.
 */
async function expectOnlyChildrenAreTraced(): Promise<void> {
  const spans = await collector.received(TRACE_IDS.length);
  expect(spans.map(({ traceId }) => traceId)).toEqual(TRACE_IDS);
}
async function expectResource(name: string, value: string): Promise<void> {
  await expectOnlyChildrenAreTraced();
  expect(collector.spans[0]?.resource).toHaveProperty([name], value);
}

interface Row {
  readonly variable: string;
  readonly value: () => string | Promise<string>;
  /** Throws if the service ignores the value. */
  readonly check: (value: string) => void | Promise<void>;
}

const port = async (): Promise<string> => String(await findFreePort());

const ROWS: readonly Row[] = [
  {
    variable: 'HOST',
    value: () => '127.0.0.2',
    check: (host) => expect(new URL(service.url).hostname).toBe(host),
  },
  {
    variable: 'PORT',
    value: port,
    check: (value) => expect(new URL(service.url).port).toBe(value),
  },
  {
    variable: 'MANAGEMENT_HOST',
    value: () => '127.0.0.3',
    check: async (host) => {
      const { port: managementPort } = new URL(service.managementUrl);
      expect(service.managementUrl).toBe(`http://${host}:${managementPort}`);
      expect((await fetchReply(`${service.managementUrl}/health/live`)).status).toBe(200);
      await expect(fetch(`http://127.0.0.2:${managementPort}/health/live`)).rejects.toThrow('fetch failed');
    },
  },
  {
    variable: 'MANAGEMENT_PORT',
    value: port,
    check: (value) => expect(new URL(service.managementUrl).port).toBe(value),
  },
  {
    variable: 'BASE_PATH',
    value: () => '/base',
    check: async () => expect(await statusOf(PATHS.orderUpdate)).toBe(404),
  },
  {
    variable: 'PUBLIC_BASE_URL',
    value: () => 'https://public.example',
    check: async (url) => {
      const problem: unknown = JSON.parse((await ask('/base/nothing')).text);
      expect(problem).toMatchObject({ type: `${url}/base/problems/not-found` });
    },
  },
  {
    variable: 'OAUTH_ISSUER',
    value: () => ISSUER,
    check: async () => expect(await statusOf(LOOKUP, { iss: world.issuer.url })).toBe(401),
  },
  {
    variable: 'OAUTH_AUDIENCE',
    value: () => AUDIENCE,
    check: async () => expect(await statusOf(LOOKUP, { aud: 'https://orders.example' })).toBe(401),
  },
  {
    variable: 'OAUTH_JWKS_URI',
    value: () => `${world.issuer.url}/jwks`,
    check: async () => expect(await statusOf(LOOKUP)).toBe(200),
  },
  {
    variable: 'DOCUMENTATION',
    value: () => 'off',
    check: async () => {
      expect(await statusOf('/base/docs')).toBe(404);
      expect(await statusOf('/base/openapi.json')).toBe(404);
    },
  },
  {
    variable: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    value: () => collector.environment['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? '',
    check: expectOnlyChildrenAreTraced,
  },
  {
    variable: 'OTEL_EXPORTER_OTLP_HEADERS',
    value: () => 'x-sample=of-the-row',
    check: async () => {
      await expectOnlyChildrenAreTraced();
      expect(collector.headers[0]).toMatchObject({ 'x-sample': 'of-the-row' });
    },
  },
  {
    variable: 'OTEL_SERVICE_NAME',
    value: () => 'rows',
    check: (name) => expectResource('service.name', name),
  },
  {
    variable: 'OTEL_RESOURCE_ATTRIBUTES',
    value: () => 'row=1',
    check: () => expectResource('row', '1'),
  },
  {
    variable: 'OTEL_TRACES_SAMPLER',
    value: () => 'parentbased_traceidratio',
    check: expectOnlyChildrenAreTraced,
  },
  { variable: 'OTEL_TRACES_SAMPLER_ARG', value: () => '0', check: expectOnlyChildrenAreTraced },
];

beforeAll(async () => {
  for (const { variable, value } of ROWS) values[variable] = await value();
  service = await world.startReadyReplica({ ...collector.environment, ...values });
  for (const traceId of [undefined, ...TRACE_IDS]) {
    const traceparent = traceId && `00-${traceId}-00f067aa0ba902b7-01`;
    await world.get('/nothing', { headers: { traceparent }, service });
  }
});
afterAll(() => collector.close());

it('each variable of .env.example has a row, or another test file names it', () => {
  const rows = readText('.env.example').matchAll(/^# ([A-Z_]+)=/gm);
  const names = Array.from(rows, ([, name]) => name);
  const known = [...Object.values(TESTED_ELSEWHERE).flat(), ...ROWS.map(({ variable }) => variable)];
  expect(new Set(names)).toEqual(new Set(known));
  for (const [file, covered] of Object.entries(TESTED_ELSEWHERE)) {
    for (const name of covered) expect(readText(file)).toMatch(new RegExp(`\\b${name}\\b`));
  }
});

it.each(ROWS)('the variable $variable has an effect', ({ variable, check }) => check(values[variable] ?? ''));
