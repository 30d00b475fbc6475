import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type CollectedSpan, Collector } from '../support/collector.js';
import { PATHS } from '../support/paths.js';
import { askWithParents } from '../support/parents.js';
import { World } from '../support/world.js';

let world: World;
let collector: Collector;
let namesBefore: string[];
/** Of a request of the test: the service's own document is fetched before it. */
const isServer = ({ kind, name }: CollectedSpan): boolean =>
  kind === 2 && name !== 'GET /openapi.json';

async function close(): Promise<void> {
  await world?.close();
  await collector.close();
}

/** Whether the service loads OpenTelemetry's SDK, by the files that V8 names in its record of coverage. */
async function isLoaded(environment: Record<string, string>): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'coverage-'));
  const all = { ...collector.environment, ...environment, NODE_V8_COVERAGE: folder };
  world = await World.create(all);
  await world.get(PATHS.orderUpdate);
  world.service.signal('SIGTERM');
  await world.service.exited();
  const [name = ''] = await readdir(folder);
  const record = await readFile(join(folder, name), 'utf8');
  await rm(folder, { recursive: true });
  return record.includes('node_modules/@opentelemetry/sdk-trace/');
}

describe('a trace', () => {
  beforeAll(async () => {
    collector = await Collector.start();
    world = await World.create({ ...collector.environment, LOG_LEVEL: 'debug' });
    const spans = await collector.received(4, ({ kind }) => kind === 1);
    namesBefore = spans.map(({ name }) => name);
  });
  beforeEach(() => void collector.spans.splice(0));
  afterAll(close);

  it('has spans for what is read from the database and the issuer', async () => {
    await world.database.query(
      "insert into code_list_value (code_list, value) values ('orderType', 'Sample')",
    );
    await collector.received(1, ({ name }) => name === 'reload codes');
    expect(new Set(namesBefore)).toEqual(
      new Set(['reload codes', 'reload keys', 'fetch from the issuer']),
    );
  });

  it('has a span for each request, by the conventions, and nothing that a caller could have put a secret into', async () => {
    const traceId = randomBytes(16).toString('hex');
    const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01`, tracestate: 'vendor=1' };
    const path = `${PATHS.communicationCodes}?codeType=SAMPLE-STATUS`;
    const replies = [
      await world.get(path, { headers }),
      await world.get(`/${world.key.key}?${world.token}`, { headers }),
      await world.get(`/problems/${world.key.key}`, { headers }),
      await world.get(PATHS.orderUpdate, { method: 'DELETE', headers }),
    ];
    const spans = await collector.received(4, isServer);
    const ids = replies.map((reply) => [reply.headers.get('x-request-id')]);
    const common = { 'url.scheme': 'http' };
    const route = (operation: string) => ({ 'http.route': operation });
    expect(spans.map(({ name, attributes }) => [name, attributes])).toEqual([
      [
        `GET ${PATHS.communicationCodes}`,
        {
          ...common,
          ...route(PATHS.communicationCodes),
          'url.path': PATHS.communicationCodes,
          'http.request.method': 'GET',
          'http.response.status_code': 200,
          'http.response.header.x-request-id': ids[0],
        },
      ],
      [
        'GET',
        {
          ...common,
          'http.request.method': 'GET',
          'http.response.status_code': 404,
          'http.response.header.x-request-id': ids[1],
        },
      ],
      [
        'GET /problems/:slug',
        {
          ...common,
          ...route('/problems/:slug'),
          'http.request.method': 'GET',
          'http.response.status_code': 404,
          'http.response.header.x-request-id': ids[2],
        },
      ],
      [
        `DELETE ${PATHS.orderUpdate}`,
        {
          ...common,
          ...route(PATHS.orderUpdate),
          'url.path': PATHS.orderUpdate,
          'http.request.method': 'DELETE',
          'http.response.status_code': 405,
          'http.response.header.x-request-id': ids[3],
        },
      ],
    ]);
    for (const span of spans) {
      expect(span).toMatchObject({
        traceId,
        parentSpanId: '00f067aa0ba902b7',
        traceState: 'vendor=1',
        service: 'order-lookup-services',
        isError: false,
      });
      expect(span.milliseconds).toBeGreaterThan(0);
    }
    const [first] = spans;
    const line = await world.service.waitForLog(({ requestId }) => requestId === ids[0]?.[0]);
    expect(line).toMatchObject({ trace_id: traceId, span_id: first?.spanId });
    const sent = JSON.stringify(collector.spans);
    for (const secret of [world.key.key, world.token]) expect(sent).not.toContain(secret);
  });

  it('begins at the service where the caller has none, or one that is no trace', async () => {
    for (const traceparent of [undefined, 'ff-x', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`])
      await world.get(PATHS.orderUpdate, { headers: { traceparent } });
    const spans = await collector.received(3, isServer);
    expect(spans.map(({ parentSpanId }) => parentSpanId)).toEqual(['', '', '']);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(3);
  });

  it('has the parent that its request named, for each of 2,000 pipelined requests', async () => {
    const asked = await askWithParents(world, { connections: 5, requests: 400 });
    const spans = await collector.received(asked.length, isServer);
    const found = new Map(
      spans.map(({ attributes, traceId, parentSpanId }) => [
        String(attributes['http.response.header.x-request-id']),
        `${traceId}-${parentSpanId}`,
      ]),
    );
    expect(found).toEqual(new Map(asked.map(({ requestId, parent }) => [requestId, parent])));
  });
});

describe('a collector', () => {
  beforeEach(async () => {
    collector = await Collector.start();
  });
  afterEach(close);

  it.each(['refuses', 'hangs'] as const)(
    'that %s is not noticed by callers, and does not hold up the end',
    async (behaviour) => {
      collector.behaviour = behaviour;
      world = await World.create({ ...collector.environment, OTEL_EXPORTER_OTLP_TIMEOUT: '300' });
      for (let times = 0; times < 100; times++)
        expect((await world.get(PATHS.orderUpdate)).status).toBe(200);
      await world.service.waitForLog(({ msg }) => msg === 'sending traces: failed, trying on');
      world.service.signal('SIGTERM');
      expect(await world.service.exited()).toBe(0);
    },
  );

  it('that hangs costs the spans for which there is no room, and the metric tells how many', async () => {
    collector.behaviour = 'hangs';
    world = await World.create({ ...collector.environment, OTEL_BSP_MAX_QUEUE_SIZE: '20' });
    const count = async (result: string): Promise<number> =>
      world.service.metric(`order_lookup_spans_total{result="${result}"}`);
    const before = await count('recorded');
    for (let times = 0; times < 100; times++) await world.get(PATHS.orderUpdate);
    expect((await count('recorded')) - before).toBeGreaterThanOrEqual(100);
    // 20 wait, and a batch of as many may be under way
    expect((await count('recorded')) - (await count('failed'))).toBeGreaterThan(40);
  });

  it('gets the last spans at the end', async () => {
    world = await World.create({ ...collector.environment, OTEL_BSP_SCHEDULE_DELAY: '3600000' });
    await world.get(PATHS.orderUpdate, { headers: { 'X-Request-Id': randomUUID() } });
    expect(collector.spans).toEqual([]);
    world.service.signal('SIGTERM');
    expect(await world.service.exited()).toBe(0);
    expect(collector.spans.filter(isServer)).toHaveLength(1);
  });

  it('is not asked for unless it is configured, and nothing of OpenTelemetry is loaded', async () => {
    expect(await isLoaded({ OTEL_SDK_DISABLED: 'true' })).toBe(false);
    expect(collector.connections).toBe(0);
    await world.close();
    expect(await isLoaded({})).toBe(true);
  });
});
