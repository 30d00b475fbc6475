import * as timers from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { diag } from '@opentelemetry/api';
import type { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { Collector } from '../../test/support/collector.js';
import { silentLogger } from '../../test/support/silent-logger.js';
import { until } from '../../test/support/until.js';
import { Configuration } from '../configuration/configuration.js';
import type { LogEntry, ServiceLogger } from './service-logger.js';

jest.unstable_mockModule('node:timers/promises', () => ({
  ...timers,
  // Calls the global `setTimeout`, which fake timers replace
  setTimeout: (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms)),
}));
const { Tracing, createTracing } = await import('./tracing.js');

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparentWith = (flags: string): string => `00-${TRACE}-00f067aa0ba902b7-${flags}`;
const ANSWERED = { operation: '/a', status: 500, requestId: '1', isFailed: true };

let collector: Collector;
let environment: NodeJS.ProcessEnv;
beforeEach(async () => {
  environment = { ...process.env };
  collector = await Collector.start();
});
afterEach(async () => {
  process.env = environment;
  await collector.close();
});

/** Returns a logger that writes each line into `texts`, with its level. */
function loggerTo(texts: string[]): ServiceLogger {
  const writeAt = (level: string) => (entry: LogEntry) => void texts.push(`${level} ${entry.message}`);
  return { log: writeAt('info'), warn: writeAt('warn'), error: writeAt('error') } as unknown as ServiceLogger;
}

/** Creates a Tracing with these variables, which OpenTelemetry's packages read, too. */
function create(variables: Record<string, string>, logger = silentLogger) {
  Object.assign(process.env, variables);
  return createTracing(Object.assign(new Configuration(), variables), logger);
}

it.each([
  { sampler: 'parentbased_always_on', flags: '00', isSampled: false },
  { sampler: 'parentbased_always_on', flags: '01', isSampled: true },
  { sampler: 'parentbased_always_off', flags: undefined, isSampled: false },
  { sampler: 'parentbased_traceidratio', share: '0', flags: '01', isSampled: true },
  { sampler: 'parentbased_traceidratio', share: '0', flags: undefined, isSampled: false },
  { sampler: 'traceidratio', share: '1', flags: '00', isSampled: true },
  { sampler: 'traceidratio', share: '0', flags: '01', isSampled: false },
  { sampler: 'always_on', flags: '00', isSampled: true },
  { sampler: 'always_off', flags: '01', isSampled: false },
])(
  'the sampler $sampler ($share) samples a call whose traceparent has the flags $flags: $isSampled',
  async ({ sampler, share = '', flags, isSampled }) => {
    const tracing = await create({
      ...collector.environment,
      OTEL_BSP_SCHEDULE_DELAY: '3600000', // longer than the test, so that only `stop` sends the spans
      OTEL_TRACES_SAMPLER: sampler,
      OTEL_TRACES_SAMPLER_ARG: share,
    });
    const headers = flags === undefined ? {} : { traceparent: traceparentWith(flags) };
    const span = tracing.startRequest({ method: 'GET', headers });
    span?.end(ANSWERED);
    await tracing.stop();
    expect(span?.spanId !== undefined).toBe(isSampled);
    if (flags !== undefined) expect(span?.traceId).toBe(TRACE);
    const spans = collector.spans.map(({ isError, attributes }) => ({
      isError,
      type: attributes['error.type'],
    }));
    expect(spans).toEqual(isSampled ? [{ isError: true, type: '500' }] : []);
  },
);

it('names a span by its method and route, if HTTP defines the method', async () => {
  const methods = ['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE'];
  const tracing = await create(collector.environment);
  for (const method of methods) tracing.startRequest({ method, headers: {} })?.end(ANSWERED);
  await tracing.stop();
  expect(collector.spans.map(({ name }) => name)).toEqual(methods.map((method) => `${method} /a`));
});

it('names a span HTTP and its route, if the caller invented the method', async () => {
  const tracing = await create(collector.environment);
  tracing.startRequest({ method: 'BREW', headers: {} })?.end(ANSWERED);
  await tracing.stop();
  const [span] = collector.spans;
  expect(span?.name).toBe('HTTP /a');
  expect(span?.attributes['http.request.method']).toBe('_OTHER');
});

it('marks a span as failed if the answer failed after its status was sent', async () => {
  const tracing = await create(collector.environment);
  tracing.startRequest({ method: 'GET', headers: {} })?.end({ ...ANSWERED, status: 200 });
  await tracing.stop();
  const [span] = collector.spans;
  expect(span).toMatchObject({ isError: true, statusMessage: '', events: [] });
  expect(span?.attributes['error.type']).toBe('_OTHER');
});

it.each([
  { behaviour: 'refuses', reason: /./ },
  { behaviour: 'drops', reason: /./ },
  { behaviour: 'hangs', reason: /timed out/ },
] as const)('a collector that $behaviour causes a line in the log, and requests still get spans', async (row) => {
  const reasons: unknown[] = [];
  const ignore = (): void => undefined;
  const warn = ({ message, reason }: LogEntry): void => {
    if (message === 'sending traces: failed, retrying') reasons.push(reason);
  };
  const logger = { log: ignore, warn, error: warn } as unknown as ServiceLogger;
  collector.behaviour = row.behaviour;
  const variables = { ...collector.environment, OTEL_EXPORTER_OTLP_TIMEOUT: '300' };
  const tracing = await create(variables, logger);
  tracing.startRequest({ method: 'GET', headers: {} })?.end(ANSWERED);
  await until(async () => reasons.length > 0);
  expect(reasons[0]).toMatch(row.reason);
  for (let request = 1; request <= 3; request++) {
    const span = tracing.startRequest({ method: 'GET', headers: {} });
    expect(span?.spanId).toBeDefined(); // so the log line of the request has the id
    span?.end(ANSWERED);
  }
  await tracing.stop(); // the collector does not take the last spans
});

it('stop waits 2 s at most for a collector that does not take the last spans', async () => {
  jest.useFakeTimers();
  const provider = { getTracer: () => undefined, shutdown: () => new Promise<void>(() => undefined) };
  const startedAtMs = performance.now();
  const ending = new Tracing(provider as unknown as NodeTracerProvider).stop().then(() => performance.now());
  await jest.advanceTimersByTimeAsync(60_000);
  jest.useRealTimers();
  expect((await ending) - startedAtMs).toBe(2_000);
});

it("if our log replaces an agent's log for OpenTelemetry's warnings, both logs say so", async () => {
  const texts: string[] = [];
  const ignore = (): void => undefined;
  const warn = (text: string): void => {
    texts.push(text);
  };
  diag.setLogger({ error: ignore, warn, info: ignore, debug: ignore, verbose: ignore });
  const take = ({ message }: LogEntry): void => {
    texts.push(message);
  };
  const logger = { log: take, warn: take, error: take } as ServiceLogger;
  const tracing = await create(collector.environment, logger);
  await tracing.stop();
  expect(texts).toContainEqual(expect.stringMatching(/^Current logger will be overwritten/));
  expect(texts).toContainEqual(
    expect.stringMatching(/^OpenTelemetry: Current logger will overwrite one already registered/),
  );
});

const ENDPOINT = 'http://127.0.0.1:1';
it.each<{ isOn: boolean; variables: Record<string, string> }>([
  { isOn: true, variables: { OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT } },
  { isOn: true, variables: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${ENDPOINT}/v1` } },
  { isOn: true, variables: { OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, OTEL_SDK_DISABLED: 'false' } },
  { isOn: false, variables: {} },
  { isOn: false, variables: { OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, OTEL_SDK_DISABLED: 'True' } },
])('traces are on: $isOn, with $variables', async ({ isOn, variables }) => {
  const tracing = await create(variables);
  const span = tracing.startRequest({ method: 'GET', headers: {} });
  await tracing.stop();
  expect(span !== undefined).toBe(isOn);
});

it.each<{ sampler: Record<string, string>; hasSpan: boolean; says: RegExp }>([
  {
    sampler: {},
    hasSpan: false,
    says: /^info traces are on, except for calls whose traceparent ends with 00: OTEL_TRACES_SAMPLER=always_on/,
  },
  {
    sampler: { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio' },
    hasSpan: false,
    says: /^info traces are on, except for calls /,
  },
  { sampler: { OTEL_TRACES_SAMPLER: 'always_on' }, hasSpan: true, says: /^info traces are on$/ },
  {
    sampler: { OTEL_TRACES_SAMPLER: 'always_off' },
    hasSpan: false,
    says: /^info traces are on, but OTEL_TRACES_SAMPLER=always_off traces no call$/,
  },
])('the log says whether a call with the flags 00 gets a span, with $sampler', async ({ sampler, hasSpan, says }) => {
  const texts: string[] = [];
  const logger = loggerTo(texts);
  const tracing = await create({ ...collector.environment, ...sampler }, logger);
  const headers = { traceparent: traceparentWith('00') };
  const span = tracing.startRequest({ method: 'GET', headers });
  await tracing.stop();
  expect(texts).toContainEqual(expect.stringMatching(says));
  expect(span?.spanId !== undefined).toBe(hasSpan);
});

it('gives the trace id of the caller to the log although traces are off', async () => {
  const tracing = await create({});
  const headers = { traceparent: traceparentWith('01') };
  const span = tracing.startRequest({ method: 'GET', headers });
  span?.end(ANSWERED);
  await tracing.stop();
  expect(span).toEqual({ traceId: TRACE, end: expect.any(Function) });
});

// `says` is a part of OpenTelemetry's warning. If it is undefined, the test looks for no warning
it.each([
  { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'collector:4317', says: undefined },
  { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://[::', says: /Could not parse/ },
  { name: 'OTEL_EXPORTER_OTLP_HEADERS', value: '=', says: undefined },
  { name: 'OTEL_EXPORTER_OTLP_PROTOCOL', value: 'grpc', says: undefined },
  { name: 'OTEL_EXPORTER_OTLP_TIMEOUT', value: 'soon', says: /Unknown value .*TIMEOUT/ },
  { name: 'OTEL_EXPORTER_OTLP_COMPRESSION', value: 'zip', says: /zip/ },
  { name: 'OTEL_EXPORTER_OTLP_CERTIFICATE', value: '/nothing', says: /certificate/ },
  { name: 'OTEL_TRACES_SAMPLER', value: 'some', says: /"some" invalid/ },
  { name: 'OTEL_TRACES_SAMPLER_ARG', value: '7', says: undefined },
  { name: 'OTEL_BSP_SCHEDULE_DELAY', value: '-1', says: undefined },
  { name: 'OTEL_BSP_MAX_QUEUE_SIZE', value: '0', says: undefined },
  { name: 'OTEL_BSP_EXPORT_TIMEOUT', value: 'x', says: /OTEL_BSP_EXPORT_TIMEOUT/ },
  { name: 'OTEL_RESOURCE_ATTRIBUTES', value: 'x', says: undefined },
  { name: 'OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT', value: '-1', says: undefined },
  { name: 'OTEL_PROPAGATORS', value: 'b3', says: undefined },
  { name: 'OTEL_TRACES_EXPORTER', value: 'zipkin', says: undefined },
])('traces are on although $name=$value is wrong', async ({ name, value, says }) => {
  const texts: string[] = [];
  const logger = loggerTo(texts);
  const OTEL_EXPORTER_OTLP_TIMEOUT = '300'; // after this time, the exporter gives up
  const variables = { ...collector.environment, OTEL_EXPORTER_OTLP_TIMEOUT, [name]: value };
  const tracing = await create(variables, logger);
  const span = tracing.startRequest({ method: 'GET', headers: {} });
  span?.end(ANSWERED);
  await tracing.stop();
  expect(span).toBeDefined();
  if (says) expect(texts).toContainEqual(expect.stringMatching(says));
});
