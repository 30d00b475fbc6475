import { expect, it } from '@jest/globals';
import { Configuration } from '../configuration/configuration.js';
import type { Lines } from './log.js';
import { Tracing } from './tracing.js';

const ENDPOINT = 'http://127.0.0.1:1';
const PROTOCOL = 'http/protobuf';
const REQUEST = { operation: '/a', requestId: '1', headers: {} };

/** Whether traces are on, and the warnings. */
async function create(variables: Partial<Configuration>): Promise<[boolean, string[]]> {
  const warnings: string[] = [];
  const write: Lines['write'] = (level, text) => void (level === 'warn' && warnings.push(text));
  const configuration = Object.assign(new Configuration(), variables);
  const tracing = await Tracing.create(configuration, { write });
  return [tracing.request(REQUEST, 200, 1).span_id !== undefined, warnings];
}

it.each<[boolean, Partial<Configuration>]>([
  [true, {}],
  [true, { OTEL_EXPORTER_OTLP_ENDPOINT: '', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${ENDPOINT}/v1` }],
  [true, { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: PROTOCOL }],
  [
    true,
    { OTEL_SDK_DISABLED: 'False', OTEL_TRACES_EXPORTER: 'OTLP', OTEL_PROPAGATORS: 'baggage,none' },
  ],
  [false, { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
  [false, { OTEL_TRACES_EXPORTER: 'none' }],
  [false, { OTEL_SDK_DISABLED: 'TRUE' }],
])('that traces are on is %s, without a warning: %j', async (isOn, variables) => {
  expect(await create({ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, ...variables })).toEqual([isOn, []]);
});

const OFF = 'traces are off';
const ON = 'what is not supported has no effect';
it.each<[keyof Configuration, string, string, string]>([
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', PROTOCOL, OFF],
  ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'http/json', PROTOCOL, OFF],
  ['OTEL_TRACES_EXPORTER', 'zipkin', 'otlp or none', OFF],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317', 'an address such as', OFF],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1:99999', 'an address such as', OFF],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'http://[::', 'an address such as', OFF],
  ['OTEL_PROPAGATORS', 'b3', 'tracecontext or none', ON],
  ['OTEL_TRACES_SAMPLER', 'jaeger_remote', 'always_on, always_off or', ON],
  ['OTEL_TRACES_SAMPLER_ARG', '7', 'the share of requests', ON],
  ['OTEL_SDK_DISABLED', 'yes', 'true or false', ON],
])('of %s=%s one warning is logged, and the service starts', async (name, value, what, outcome) => {
  const found = await create({ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT, [name]: value });
  const warning = expect.stringMatching(
    RegExp(`^${name} is "${value.replaceAll('[', '.')}": ${what}.* is needed; ${outcome}$`),
  );
  expect(found).toEqual([outcome === ON, [warning]]);
});
