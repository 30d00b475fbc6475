import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Collector } from '../../test/support/collector.js';
import { Configuration } from '../configuration/configuration.js';
import { silentLog } from '../../test/support/silent-log.js';
import { OpenTelemetry } from './open-telemetry.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
let collector: Collector;
beforeEach(async () => {
  collector = await Collector.start();
  Object.assign(process.env, { ...collector.environment, OTEL_BSP_SCHEDULE_DELAY: '3600000' });
});
afterEach(() => collector.close());

it.each<[string, string, string | undefined, number, string?]>([
  ['parentbased_always_on', '', '00', 0],
  ['parentbased_always_on', '', '01', 1],
  ['parentbased_always_off', '', undefined, 0],
  ['parentbased_traceidratio', '0', '01', 1],
  ['parentbased_traceidratio', '0', undefined, 0],
  ['traceidratio', '', '00', 1],
  ['traceidratio', '0', '01', 0],
  ['always_on', '', '00', 1],
  ['always_off', '', '01', 0],
  // Without a parent, a trace begins here
  ['parentbased_always_on', '', '00', 1, 'none'],
  ['parentbased_always_on', '', '00', 1, 'b3'],
  ['parentbased_always_on', '', '00', 0, 'b3,TraceContext'],
])(
  '%s %s: of a request whose parent has the flags %s %i spans are sent at the end',
  async (...row) => {
    const [OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG, flags, count, OTEL_PROPAGATORS] = row;
    const configuration = new Configuration();
    Object.assign(configuration, { OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG });
    if (OTEL_PROPAGATORS) Object.assign(configuration, { OTEL_PROPAGATORS });
    const tracing = new OpenTelemetry(configuration, silentLog);
    const traceparent = flags && `00-${TRACE}-00f067aa0ba902b7-${flags}`;
    const request = { method: 'GET', operation: '/a', requestId: '1', headers: { traceparent } };
    const fields = tracing.request(request, 500, 1.5);
    await tracing.stop();
    expect(Object.keys(fields)).toHaveLength(2 * count);
    await collector.received(count); // a slow machine may send it after the end
    const found = collector.spans.map(({ isError, milliseconds, attributes }) => [
      isError,
      Math.round(milliseconds * 10),
      attributes['error.type'],
    ]);
    expect(found).toEqual(Array.from({ length: count }, () => [true, 15, '500']));
  },
);
