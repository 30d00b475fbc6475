// Promises that no variable of .env.example is without effect: each has a row here, whose check fails if the service ignores the variable,
// or stands beside the file whose test does.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Collector } from '../support/collector.js';
import { PATHS } from '../support/paths.js';
import { textOf } from '../support/program.js';
import { freePort } from '../support/postgres-server.js';
import type { RunningService } from '../support/service.js';
import { testWorld } from '../support/test-world.js';

const COVERED: Record<string, readonly string[]> = {
  'test/snapshots/cold-start.e2e-spec.ts': ['DATABASE_URL', 'LAST_GOOD_FOLDER'],
  'test/administration/migrate/up.e2e-spec.ts': ['ORDER_LOOKUP_PERSON'],
  'test/database/tls.e2e-spec.ts': ['DATABASE_URL_FILE'],
  'test/auth/settings.e2e-spec.ts': [
    'OAUTH_CLIENTS',
    'OAUTH_REQUIRED_SCOPE',
    'OAUTH_TOKEN_TYPE',
    'RATE_LIMIT_PER_MINUTE',
  ],
  'test/auth/keys.e2e-spec.ts': ['API_KEY_MAX_AGE_SECONDS'],
  'test/http/door.e2e-spec.ts': ['CORS_ORIGINS', 'TRUSTED_PROXY_HOPS'],
  'test/management/shutdown.e2e-spec.ts': ['DRAIN_SECONDS', 'KEEP_ALIVE_SECONDS'],
  'test/telemetry/tracing.e2e-spec.ts': ['LOG_LEVEL'],
  'src/configuration/read-configuration.spec.ts': ['OAUTH_ALLOW_HTTP'],
  'src/telemetry/tracing.spec.ts': ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_SDK_DISABLED'],
};
/** No address of the loopback network to the service, and nobody listens there. */
const ISSUER = 'http://0.0.0.0:1';
const AUDIENCE = 'https://other.example';
const LOOKUP = `/base${PATHS.orderUpdate}`;
/** Of the callers that have a trace. */
const TRACES = Array.from({ length: 5 }, () => randomBytes(16).toString('hex'));

const collector = await Collector.start();
const world = testWorld();
/** Has the values of all rows. */
let service: RunningService;
const valueOf: Record<string, string> = {};

const tokenFor = (claims: Record<string, string>): Promise<string> =>
  world.issuer.token({ claims: { iss: ISSUER, aud: AUDIENCE, ...claims } });
async function ask(path: string, claims: Record<string, string> = {}): Promise<Response> {
  const headers = { 'Api-Key': world.key.key, Authorization: await tokenFor(claims) };
  return fetch(service.url + path, { headers });
}
const status = async (...asked: Parameters<typeof ask>): Promise<number> =>
  (await ask(...asked)).status;

/** The ratio 0 leaves out requests without a parent, those of the rows above among them. */
async function onlyParentsAreTraced(): Promise<void> {
  const spans = await collector.received(TRACES.length);
  expect(spans.map(({ traceId }) => traceId)).toEqual(TRACES);
}
async function resourceHolds(name: string, value: string): Promise<void> {
  await onlyParentsAreTraced();
  expect(collector.spans[0]?.resource).toHaveProperty([name], value);
}

type Value = string | (() => string | Promise<string>);
type Check = (value: string) => void | Promise<void>;
const port = async (): Promise<string> => String(await freePort());
const ROWS: Record<string, [Value, Check]> = {
  HOST: ['127.0.0.2', (host) => expect(new URL(service.url).hostname).toBe(host)],
  PORT: [port, (value) => expect(new URL(service.url).port).toBe(value)],
  MANAGEMENT_PORT: [port, (value) => expect(new URL(service.managementUrl).port).toBe(value)],
  BASE_PATH: ['/base', async () => expect(await status(PATHS.orderUpdate)).toBe(404)],
  PUBLIC_BASE_URL: [
    'https://public.example',
    async (url) => {
      const problem = await (await ask('/base/nothing')).json();
      expect(problem).toMatchObject({ type: `${url}/base/problems/not-found` });
    },
  ],
  OAUTH_ISSUER: [
    ISSUER,
    async () => expect(await status(LOOKUP, { iss: world.issuer.url })).toBe(401),
  ],
  OAUTH_AUDIENCE: [
    AUDIENCE,
    async () => expect(await status(LOOKUP, { aud: 'https://orders.example' })).toBe(401),
  ],
  OAUTH_JWKS_URI: [
    () => `${world.issuer.url}/jwks`,
    async () => expect(await status(LOOKUP)).toBe(200),
  ],
  DOCUMENTATION: [
    'off',
    async () => {
      for (const path of ['/base/docs', '/base/openapi.json']) expect(await status(path)).toBe(404);
    },
  ],
  OTEL_EXPORTER_OTLP_ENDPOINT: [
    () => collector.environment['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? '',
    onlyParentsAreTraced,
  ],
  OTEL_EXPORTER_OTLP_HEADERS: [
    'x-sample=of-the-row',
    async () => {
      await onlyParentsAreTraced();
      expect(collector.headers[0]).toMatchObject({ 'x-sample': 'of-the-row' });
    },
  ],
  OTEL_SERVICE_NAME: ['rows', (name) => resourceHolds('service.name', name)],
  OTEL_RESOURCE_ATTRIBUTES: ['row=1', () => resourceHolds('row', '1')],
  OTEL_TRACES_SAMPLER: ['parentbased_traceidratio', onlyParentsAreTraced],
  OTEL_TRACES_SAMPLER_ARG: ['0', onlyParentsAreTraced],
};

beforeAll(async () => {
  for (const [name, [value]] of Object.entries(ROWS))
    valueOf[name] = typeof value === 'string' ? value : await value();
  service = await world.replica({ ...collector.environment, ...valueOf });
  for (const traceId of [undefined, ...TRACES]) {
    const traceparent = traceId && `00-${traceId}-00f067aa0ba902b7-01`;
    await world.get('/nothing', { headers: { traceparent }, service });
  }
});
afterAll(() => collector.close());

it('each variable of .env.example has a row, or a test elsewhere that names it', () => {
  const rows = textOf('.env.example').matchAll(/^# ([A-Z_]+)=/gm);
  const names = Array.from(rows, ([, name]) => name);
  const known = [...Object.values(COVERED).flat(), ...Object.keys(ROWS)];
  expect(new Set(names)).toEqual(new Set(known));
  for (const [file, covered] of Object.entries(COVERED)) {
    for (const name of covered) expect(textOf(file)).toMatch(new RegExp(`\\b${name}\\b`));
  }
});

it.each(Object.entries(ROWS))('the variable %s has an effect', (name, [, check]) =>
  check(valueOf[name] ?? ''),
);
