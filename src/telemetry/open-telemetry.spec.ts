import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Configuration } from '../configuration/configuration.js';
import { Collector } from '../../test/support/collector.js';
import { Metrics } from './metrics.js';
import { OpenTelemetry } from './open-telemetry.js';

let collector: Collector;
beforeEach(async () => {
  collector = await Collector.start();
  Object.assign(process.env, collector.environment);
});
afterEach(() => collector.close());

it.each([
  ['parentbased_always_on', '', '00', 0],
  ['parentbased_always_on', '', '01', 1],
  ['parentbased_always_off', '', undefined, 0],
  ['parentbased_traceidratio', '0', '01', 1],
  ['parentbased_traceidratio', '0', undefined, 0],
  ['traceidratio', '1', '00', 1],
  ['always_on', '', '00', 1],
  ['always_on', '', undefined, 1],
  ['always_off', '', '01', 0],
  ['traceidratio', '0.92', '01', 1],
  ['traceidratio', '0.91', '01', 0],
])(
  '%s %s makes of a request whose parent has the flags %s %i spans',
  async (sampler, share, flags, count) => {
    const tracing = new OpenTelemetry(
      Object.assign(new Configuration(), {
        OTEL_TRACES_SAMPLER: sampler,
        OTEL_TRACES_SAMPLER_ARG: share,
      }),
      pino({ level: 'silent' }),
      new Metrics(),
    );
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const traceparent = flags && `00-${traceId}-00f067aa0ba902b7-${flags}`;
    const field = (name: string): string | undefined =>
      name === 'traceparent' ? traceparent : undefined;
    const fields = tracing.request(
      { method: 'GET', operation: '/a', requestId: '1', field },
      500,
      1.5,
    );
    await tracing.stop();
    if (flags) expect(fields.trace_id).toBe(traceId);
    else expect(fields.trace_id ?? '').toMatch(count > 0 ? /^[0-9a-f]{32}$/ : /^$/);
    expect(
      collector.spans.map(({ isError, milliseconds, attributes }) => [
        isError,
        Math.round(milliseconds * 10),
        attributes['error.type'],
      ]),
    ).toEqual(Array.from({ length: count }, () => [true, 15, '500']));
  },
);
