import { randomBytes } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { Collector } from '../support/collector.js';
import { PATHS } from '../support/paths.js';
import type { RunningService } from '../support/service.js';
import { testFolder } from '../support/test-folder.js';
import { testWorld } from '../support/test-world.js';

const collector = await Collector.start();
const world = testWorld({ ...collector.environment, LOG_LEVEL: 'debug' });
const folder = testFolder();
afterAll(() => collector.close());

const random = (bytes: number): string => randomBytes(bytes).toString('hex');

const requests = (): [method: string, path: string, status: number, route: string][] => [
  ['GET', `${PATHS.communicationCodes}?code=S1`, 200, PATHS.communicationCodes],
  ['GET', `/${world.key.key}?${world.token}`, 404, ''],
  ['GET', `/problems/${world.key.key}`, 404, '/problems/:slug'],
  ['DELETE', PATHS.orderUpdate, 405, PATHS.orderUpdate],
];

/** Asks with a parent, and expects its span and its line. */
async function ask([method, path, status, route]: ReturnType<typeof requests>[number]) {
  const [traceId, parentSpanId] = [random(16), random(8)];
  const headers = { traceparent: `00-${traceId}-${parentSpanId}-01`, tracestate: 'vendor=1' };
  const reply = await world.get(path, { method, headers });
  const [span] = await collector.received(1, (each) => each.traceId === traceId);
  const requestId = reply.headers.get('x-request-id');
  expect(span).toEqual({
    ...{ traceId, spanId: expect.any(String), parentSpanId, traceState: 'vendor=1' },
    ...{ isServer: true, isError: false, milliseconds: expect.any(Number) },
    name: route ? `${method} ${route}` : method,
    attributes: {
      'http.request.method': method,
      'http.response.status_code': status,
      'http.response.header.x-request-id': [requestId],
      'url.scheme': 'http',
      ...(route && { 'http.route': route }),
      ...(route.startsWith('/order') && { 'url.path': route }),
    },
    resource: expect.objectContaining({ 'service.name': 'order-lookup-services' }),
  });
  expect(span?.milliseconds).toBeGreaterThan(0);
  const line = await world.service.waitForLog((each) => each['requestId'] === requestId);
  expect(line).toMatchObject({ trace_id: traceId, span_id: span?.spanId });
}

it('a trace has a span for each request, by the conventions, with the parent that it named, and nothing that a caller could have put a secret into', async () => {
  await Promise.all(Array.from({ length: 25 }, requests).flat().map(ask));
});

it('a trace begins at the service where the caller has none, or one that is no trace', async () => {
  for (const traceparent of [undefined, 'ff-x', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`])
    await world.get(PATHS.orderCaptureV2, { headers: { traceparent } });
  const route = PATHS.orderCaptureV2;
  const spans = await collector.received(3, (each) => each.attributes['http.route'] === route);
  expect(spans.map(({ parentSpanId }) => parentSpanId)).toEqual(['', '', '']);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(3);
});

it('a collector that refuses or hangs is not noticed by callers; without one, nothing of OpenTelemetry is loaded', async () => {
  const failing = await Collector.start();
  const environment = { ...failing.environment, NODE_V8_COVERAGE: folder };
  const [off, on] = await Promise.all([
    world.replica({ ...environment, OTEL_SDK_DISABLED: 'true' }),
    world.replica({ ...environment, OTEL_EXPORTER_OTLP_TIMEOUT: '300' }),
  ]);
  await world.get(PATHS.orderUpdate, { service: off });
  expect(failing.connections).toBe(0);
  const reasons = { refuses: /./, hangs: /timed out/ };
  for (const behaviour of ['refuses', 'hangs'] as const) {
    failing.behaviour = behaviour;
    for (let times = 0; times < 50; times++)
      expect((await world.get(PATHS.orderUpdate, { service: on })).status).toBe(200);
    await on.waitForLog((line) => reasons[behaviour].test(String(line['reason'])));
  }
  /** Ends a service; gives whether it had loaded the SDK, by the files that V8 names in its record of coverage. */
  const hadLoaded = async (service: RunningService): Promise<boolean> => {
    service.signal('SIGTERM');
    expect(await service.exited()).toBe(0);
    const name = readdirSync(folder).find((each) => each.includes(`-${service.pid}-`)) ?? '';
    return readFileSync(join(folder, name), 'utf8').includes('@opentelemetry/sdk-trace/');
  };
  expect(await Promise.all([hadLoaded(off), hadLoaded(on)])).toEqual([false, true]);
  await failing.close();
});
