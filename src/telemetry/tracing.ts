// Traces with OpenTelemetry. Unless a collector is configured, nothing of OpenTelemetry is loaded and no connection is made.
import { Injectable } from '@nestjs/common';
import { Configuration } from '../configuration/configuration.js';
import { found } from '../configuration/rules.js';
import type { Lines } from './log.js';
import type { OpenTelemetry, TracedRequest } from './open-telemetry.js';

/** W3C Trace Context, section 3.2. Anything else is free text, and stays out of the log. */
const TRACEPARENT = /^[\da-f]{2}-(?!0{32})([\da-f]{32})-[\da-f]{16}-[\da-f]{2}/;

const DEFAULTS = new Configuration();
/** The exporter would send to localhost instead of an address that it cannot parse. */
const COLLECTOR = {
  test: (text: string) =>
    text === '' || (/^https?:\/\/[^\s?#@]+$/i.test(text) && URL.canParse(text)),
};
/** What is supported of OpenTelemetry's variables. */
const SUPPORTED = [
  ['OTEL_EXPORTER_OTLP_ENDPOINT', COLLECTOR, 'an address such as http://collector:4318'],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', /^http\/protobuf$/i, 'http/protobuf'],
  ['OTEL_TRACES_EXPORTER', /^(otlp|none)$/i, 'otlp or none'],
  ['OTEL_SDK_DISABLED', /^(true|false)$/i, 'true or false'],
  ['OTEL_PROPAGATORS', /^((tracecontext|baggage|none)\b[, ]*)+$/i, 'tracecontext or none'],
  [
    'OTEL_TRACES_SAMPLER',
    /^(parentbased_)?(always_on|always_off|traceidratio)$/i,
    'always_on, always_off or traceidratio, with or without parentbased_ before it,',
  ],
  ['OTEL_TRACES_SAMPLER_ARG', /^(0?(\.\d+)?|1(\.0*)?)$/, 'the share of requests, from 0 to 1,'],
] as const;

@Injectable()
export class Tracing {
  constructor(private readonly tracer?: OpenTelemetry) {}

  /** What is not supported is a warning, since a platform sets the variables for all its programs. Traces that could not be sent are off. */
  static async create(this: void, configuration: Configuration, log: Lines): Promise<Tracing> {
    const settings = Object.assign(new Configuration(), configuration);
    for (const [general, form, what] of SUPPORTED) {
      const forTraces = general.replace('OTLP_', 'OTLP_TRACES_') as typeof general;
      const name = settings[forTraces] === '' ? general : forTraces;
      if (form.test(settings[name])) continue;
      const isOff = name.includes('EXPORTER');
      const outcome = isOff ? 'traces are off' : 'what is not supported has no effect';
      log.write('warn', `${name} is ${found(settings[name])}: ${what} is needed; ${outcome}`);
      if (isOff) settings.OTEL_SDK_DISABLED = 'true';
      else if (name !== 'OTEL_PROPAGATORS') settings[name] = DEFAULTS[name];
    }
    const endpoint =
      settings.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || settings.OTEL_EXPORTER_OTLP_ENDPOINT;
    const isNone = /^none$/i.test(settings.OTEL_TRACES_EXPORTER);
    const isDisabled = /^true$/i.test(settings.OTEL_SDK_DISABLED);
    if (endpoint === '' || isNone || isDisabled) return new Tracing();
    const { OpenTelemetry } = await import('./open-telemetry.js');
    return new Tracing(new OpenTelemetry(settings, log));
  }

  /** Records the span of an answered request, and returns trace_id and span_id for its log line. */
  request(request: TracedRequest, status: number, milliseconds: number) {
    const { traceparent } = request.headers;
    if (!this.tracer && traceparent === undefined) return { trace_id: undefined };
    const [, trace_id] = TRACEPARENT.exec(traceparent?.toString() ?? '') ?? [];
    return { trace_id, ...this.tracer?.request(request, status, milliseconds) };
  }

  /** Sends the last spans. */
  async stop(): Promise<void> {
    await this.tracer?.stop();
  }
}
