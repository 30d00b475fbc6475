import { randomBytes } from 'node:crypto';
import { afterAll, expect, it } from '@jest/globals';
import { preload } from '../support/preload.js';
import { Collector } from '../support/collector.js';
import { PATHS } from '../support/paths.js';
import type { RunningService } from '../support/running-service.js';
import { processWorld } from '../support/test-world.js';
import { until } from '../support/until.js';

const collector = await Collector.start();
/** Variables that make a process say at its end whether it has loaded OpenTelemetry's SDK. The API is always loaded. */
const SAYS_WHETHER_LOADED = preload(`
  import Module from 'node:module';
  import { writeSync } from 'node:fs';
  process.once('exit', () => {
    const isLoaded = Object.keys(Module._cache).some((file) => file.includes('/@opentelemetry/sdk-trace-node/'));
    writeSync(2, 'SDK loaded: ' + isLoaded + '\\n');
  });`);
const world = processWorld({
  environment: {
    ...collector.environment,
    LOG_LEVEL: 'debug',
    DRAIN_SECONDS: '0',
    ...SAYS_WHETHER_LOADED,
  },
});
afterAll(() => collector.close());

const randomId = (bytes: number): string => randomBytes(bytes).toString('hex');

const filter = `${PATHS.communicationCodes}?code=S1`;
/** Returns a path that contains credentials by mistake. */
const secretPath = (): string => `/${world.key.key}?${world.token}`;

it.each([
  { what: 'a lookup', method: 'GET', path: () => filter, status: 200, route: PATHS.communicationCodes },
  { what: 'an unknown path', method: 'GET', path: secretPath, status: 404, route: undefined },
  {
    what: 'an unknown problem page',
    method: 'GET',
    path: () => `/problems/${world.key.key}`,
    status: 404,
    route: '/problems/:slug',
  },
  {
    what: 'a method that is not allowed',
    method: 'DELETE',
    path: () => PATHS.orderUpdate,
    status: 405,
    route: PATHS.orderUpdate,
  },
])(
  "a request for $what has a span with the caller's span as parent, and with no text that could contain a secret",
  async ({ method, path, status, route }) => {
    const traceId = randomId(16);
    const parentSpanId = randomId(8);
    const headers = { traceparent: `00-${traceId}-${parentSpanId}-01`, tracestate: 'vendor=1' };
    const reply = await world.get(path(), { method, headers });
    const [span] = await collector.received(1, (each) => each.traceId === traceId);
    const requestId = reply.headers.get('x-request-id');
    // Only the path of a route without parameters is in the span, because another path could contain a secret
    const hasPath = route !== undefined && !route.includes(':');
    expect(span).toEqual({
      traceId,
      spanId: expect.any(String),
      parentSpanId,
      traceState: 'vendor=1',
      name: route === undefined ? method : `${method} ${route}`,
      isServer: true,
      events: [],
      linkedTraceIds: [],
      isError: false,
      statusMessage: '',
      milliseconds: expect.any(Number),
      attributes: {
        'http.request.method': method,
        'http.response.status_code': status,
        'http.response.header.x-request-id': [requestId],
        'url.scheme': 'http',
        ...(route !== undefined && { 'http.route': route }),
        ...(hasPath && { 'url.path': route }),
      },
      resource: expect.objectContaining({ 'service.name': 'order-lookup-services' }),
    });
    expect(span?.milliseconds).toBeGreaterThan(0);
    const line = await world.service.waitForLog((each) => each['requestId'] === requestId);
    expect(line).toMatchObject({ trace_id: traceId, span_id: span?.spanId });
  },
);

it('the service begins a new trace if the caller sends no traceparent, or an invalid one', async () => {
  const unusable = [undefined, 'ff-x', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`];
  for (const traceparent of unusable) {
    await world.get(PATHS.orderCaptureV2, { headers: { traceparent } });
  }
  const isOfThisTest = (span: { attributes: Record<string, unknown> }): boolean =>
    span.attributes['http.route'] === PATHS.orderCaptureV2;
  const spans = await collector.received(3, isOfThisTest);
  expect(spans.map(({ parentSpanId }) => parentSpanId)).toEqual(['', '', '']);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(3);
});

/** Ends a service, and returns whether it had loaded the SDK. */
async function hadLoadedSdk(service: RunningService): Promise<boolean> {
  service.signal('SIGTERM');
  expect(await service.waitForExit()).toBe(0);
  const sentence = /SDK loaded: (true|false)\n/;
  await until(async () => sentence.test(service.output));
  return sentence.exec(service.output)?.[1] === 'true';
}

it("OpenTelemetry's SDK is loaded only if traces are on", async () => {
  const [on, off] = [await world.startReplica(), await world.startReplica({ OTEL_SDK_DISABLED: 'true' })];
  expect([await hadLoadedSdk(on), await hadLoadedSdk(off)]).toEqual([true, false]);
});
