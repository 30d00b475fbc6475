// Promises that no variable of .env.example is without effect: each has a row here, whose check fails if the service ignores the variable,
// or the file whose test does.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Collector } from '../support/collector.js';
import { PATHS } from '../support/paths.js';
import { PROJECT, run } from '../support/program.js';
import { freePort } from '../support/postgres-server.js';
import type { RunningService } from '../support/service.js';
import { World } from '../support/world.js';

/** The files under test/ that cover variables. */
const COVERED: Record<string, readonly string[]> = {
  'last-good/cold-start': ['DATABASE_URL', 'LAST_GOOD_FILE'],
  'database/tls': ['DATABASE_URL_FILE'],
  'auth/settings': ['OAUTH_REQUIRED_SCOPE', 'OAUTH_TOKEN_TYPE', 'RATE_LIMIT_PER_MINUTE'],
  'auth/keys': ['API_KEY_MAX_AGE_SECONDS'],
  'http/address': ['TRUSTED_PROXY_HOPS'],
  'http/door': ['CORS_ORIGINS'],
  'telemetry/tracing': ['OTEL_SDK_DISABLED'],
  'management/shutdown': ['LOG_LEVEL'],
};
/** No address of the loopback network to the service, and nobody listens there. */
const ISSUER = 'http://0.0.0.0:1';
const AUDIENCE = 'https://other.example';
const HOUR_MS = '3600000';
/** A wait in vain ends with this; what is waited for comes at once. */
const LIMIT_MS = 15_000;
let world: World;
/** Has the values of all rows without `apart`. */
let service: RunningService;
let token: string;
let collector: Collector;
let batches: Collector;
let pauses: Collector;

interface Row {
  readonly value: string | (() => string | Promise<string>);
  readonly check: (value: string) => void | Promise<void>;
  /** The check starts a replica of its own, since the value would hide the effect of others. */
  readonly apart?: true;
}

const ask = (path: string, bearer = token): Promise<Response> =>
  fetch(service.url + path, {
    headers: { 'Api-Key': world.key.key, Authorization: `Bearer ${bearer}` },
  });
const status = async (path: string, bearer?: string): Promise<number> =>
  (await ask(path, bearer)).status;
const lookup = `/base${PATHS.orderUpdate}`;
const tokenFor = (claims: Record<string, string>): Promise<string> =>
  world.issuer.token({ claims: { iss: ISSUER, aud: AUDIENCE, ...claims } });
const refuses = async (claims: Record<string, string>): Promise<void> =>
  expect(await status(lookup, await tokenFor(claims))).toBe(401);
const answer = async (...expected: [status: number, path: string][]): Promise<void> => {
  for (const [code, path] of expected) expect(await status(path)).toBe(code);
};
const accepts = (): Promise<void> => answer([200, lookup]);

const port = async (): Promise<string> => String(await freePort());

/** The ratio 0 leaves out what has no parent; as many with one as the queue holds are sent, though the hour of the delay does not pass. */
async function onlyParentsAreTraced(): Promise<void> {
  const spans = await collector.received(TRACES.length);
  expect(spans.map(({ traceId }) => traceId)).toEqual(TRACES);
}
const TRACES = Array.from({ length: 5 }, () => randomBytes(16).toString('hex'));

async function resourceHolds(name: string, value: string): Promise<void> {
  await onlyParentsAreTraced();
  expect(collector.spans[0]?.resource).toHaveProperty([name], value);
}

const ROWS: Record<string, Row> = {
  HOST: { value: '127.0.0.2', check: (host) => expect(new URL(service.url).hostname).toBe(host) },
  PORT: { value: port, check: (own) => expect(new URL(service.url).port).toBe(own) },
  MANAGEMENT_PORT: {
    value: port,
    check: (own) => expect(new URL(service.managementUrl).port).toBe(own),
  },
  BASE_PATH: { value: '/base', check: () => answer([200, lookup], [404, PATHS.orderUpdate]) },
  PUBLIC_BASE_URL: {
    value: 'https://public.example',
    check: async () => {
      const problem = await (await ask('/base/nothing')).json();
      expect(problem).toMatchObject({ type: 'https://public.example/base/problems/not-found' });
    },
  },
  OAUTH_ISSUER: { value: ISSUER, check: () => refuses({ iss: world.issuer.url }) },
  OAUTH_AUDIENCE: { value: AUDIENCE, check: () => refuses({ aud: 'https://orders.example' }) },
  OAUTH_JWKS_URI: { value: () => `${world.issuer.url}/jwks`, check: accepts },
  OAUTH_ALLOW_HTTP: { value: 'true', check: accepts },
  DOCUMENTATION: {
    value: 'off',
    check: () => answer([404, '/base/docs'], [404, '/base/openapi.json']),
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    value: () => collector.environment['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? '',
    check: onlyParentsAreTraced,
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    value: 'x-sample=of-the-row',
    check: async () => {
      await onlyParentsAreTraced();
      expect(collector.headers[0]).toMatchObject({ 'x-sample': 'of-the-row' });
    },
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    value: 'grpc',
    apart: true,
    check: async (OTEL_EXPORTER_OTLP_PROTOCOL) => {
      const ended = await run('main.js', [], { OTEL_EXPORTER_OTLP_PROTOCOL });
      expect(ended.stdout + ended.stderr).toContain('only http/protobuf is supported');
    },
  },
  OTEL_SERVICE_NAME: { value: 'rows', check: (name) => resourceHolds('service.name', name) },
  OTEL_RESOURCE_ATTRIBUTES: { value: 'row=1', check: () => resourceHolds('row', '1') },
  OTEL_TRACES_SAMPLER: { value: 'parentbased_traceidratio', check: onlyParentsAreTraced },
  OTEL_TRACES_SAMPLER_ARG: { value: '0', check: onlyParentsAreTraced },
  OTEL_BSP_MAX_QUEUE_SIZE: { value: String(TRACES.length), check: onlyParentsAreTraced },
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: {
    value: '1',
    apart: true,
    check: async (OTEL_BSP_MAX_EXPORT_BATCH_SIZE) => {
      const environment = { ...batches.environment, OTEL_BSP_SCHEDULE_DELAY: HOUR_MS };
      world.replicas.push(await world.replica({ ...environment, OTEL_BSP_MAX_EXPORT_BATCH_SIZE }));
      expect((await batches.received(3)).length).toBe(batches.headers.length);
    },
  },
  OTEL_BSP_SCHEDULE_DELAY: {
    value: '50', // of the collector's environment; each round would last the default of 5 seconds
    apart: true,
    check: async () => {
      for (let round = 0; round < 5; round++) {
        pauses.spans.splice(0);
        await world.get(PATHS.orderUpdate);
        await pauses.received(1, ({ name }) => name === `GET ${PATHS.orderUpdate}`);
      }
    },
  },
};
const valueOf: Record<string, string> = {};
beforeAll(async () => {
  collector = await Collector.start();
  batches = await Collector.start();
  pauses = await Collector.start();
  world = await World.create(pauses.environment);
  for (const [name, { value }] of Object.entries(ROWS))
    valueOf[name] = typeof value === 'string' ? value : await value();
  const shared = Object.entries(valueOf).filter(([name]) => !ROWS[name]?.apart);
  token = await tokenFor({});
  shared.push(['OTEL_BSP_SCHEDULE_DELAY', HOUR_MS]);
  service = await world.replica(Object.fromEntries(shared));
  world.replicas.push(service);
  await ask(lookup);
  for (const traceId of TRACES)
    await fetch(service.url, { headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` } });
});
afterAll(async () => {
  await world?.close();
  await Promise.all([collector, batches, pauses].map((each) => each.close()));
});

describe('a variable of .env.example', () => {
  it('has a row, or a test elsewhere that names it', () => {
    const text = readFileSync(join(PROJECT, '.env.example'), 'utf8');
    const names = [...text.matchAll(/^# ([A-Z_]+)=/gm)].map(([, name]) => name);
    const known = [...Object.values(COVERED).flat(), ...Object.keys(ROWS)];
    expect(new Set(names)).toEqual(new Set(known));
    for (const [file, covered] of Object.entries(COVERED)) {
      const test = readFileSync(join(PROJECT, 'test', `${file}.e2e-spec.ts`), 'utf8');
      for (const name of covered) expect(test).toMatch(new RegExp(`\\b${name}\\b`));
    }
  });

  const rows = Object.entries(ROWS);
  it.each(rows)('%s has an effect', (name, { check }) => check(valueOf[name] ?? ''), LIMIT_MS);
});
