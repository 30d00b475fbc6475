import { expect, it } from '@jest/globals';
import { parseTraceParent } from '@opentelemetry/core';
import { traceIdOf } from './traceparent.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

it.each([
  { what: 'version 00', traceparent: `00-${TRACE}-${SPAN}-01`, traceId: TRACE },
  { what: 'blanks around it', traceparent: ` 00-${TRACE}-${SPAN}-00 `, traceId: TRACE },
  {
    what: 'a later version with more parts',
    traceparent: `01-${TRACE}-${SPAN}-01-x`,
    traceId: TRACE,
  },
  { what: 'version 00 with more parts', traceparent: `00-${TRACE}-${SPAN}-01-x` },
  { what: 'version 00 with an empty part', traceparent: `00-${TRACE}-${SPAN}-01-` },
  { what: 'the forbidden version', traceparent: `ff-${TRACE}-${SPAN}-01` },
  { what: 'a trace of zeros', traceparent: `00-${'0'.repeat(32)}-${SPAN}-01` },
  { what: 'a span of zeros', traceparent: `00-${TRACE}-${'0'.repeat(16)}-01` },
  { what: 'capitals', traceparent: `00-${TRACE.toUpperCase()}-${SPAN}-01` },
  { what: 'something behind it', traceparent: `00-${TRACE}-${SPAN}-01 secret` },
  { what: 'two of them', traceparent: `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01` },
  { what: 'a text', traceparent: 'secret' },
  { what: 'nothing', traceparent: '' },
])('the log believes $what as OpenTelemetry does', ({ traceparent, traceId }) => {
  expect(traceIdOf({ traceparent })).toBe(traceId);
  expect(parseTraceParent(traceparent)?.traceId).toBe(traceId);
});
