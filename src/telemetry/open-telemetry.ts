// Loaded only if traces are on. Neither requests nor the shutdown wait for the collector: spans that it does not accept in time are dropped.
import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import * as api from '@opentelemetry/api';
import * as core from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import * as resources from '@opentelemetry/resources';
import * as sdk from '@opentelemetry/sdk-trace';
import type { Configuration } from '../configuration/configuration.js';
import type { Lines } from './log.js';
import { RepeatedFailure } from './repeated-failure.js';

/** For a collector that stalls to accept the last spans. */
const FLUSH_MS = 2_000;
/** Other methods are _OTHER, so that nobody can make new names of spans. */
const METHOD = /^(GET|HEAD|OPTIONS|POST|PUT|PATCH|DELETE|TRACE|CONNECT)$/;

/** What a span records about a request: never its query, a header, or a path that is not a route of the service. */
export interface TracedRequest {
  readonly method?: string | null;
  readonly operation: string;
  readonly requestId: string;
  readonly headers: IncomingHttpHeaders;
}

export class OpenTelemetry {
  private readonly provider: sdk.TracerProvider;
  private readonly tracer: api.Tracer;
  private readonly propagator: core.CompositePropagator;

  /** The exporter and the resource read the other standard variables themselves. */
  constructor(configuration: Configuration, log: Lines) {
    const { OTEL_SERVICE_NAME, OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG } = configuration;
    const hasParents = /\btracecontext\b/i.test(configuration.OTEL_PROPAGATORS);
    const propagators = hasParents ? [new core.W3CTraceContextPropagator()] : [];
    this.propagator = new core.CompositePropagator({ propagators });
    const failure = new RepeatedFailure(log, 'sending traces');
    core.setGlobalErrorHandler((error) => failure.failed(error));
    const detectors = [resources.serviceInstanceIdDetector, resources.envDetector];
    this.provider = new sdk.TracerProvider({
      resource: resources
        .defaultResource()
        .merge(resources.resourceFromAttributes({ 'service.name': OTEL_SERVICE_NAME }))
        .merge(resources.detectResources({ detectors })),
      sampler: samplerOf(OTEL_TRACES_SAMPLER.toLowerCase(), OTEL_TRACES_SAMPLER_ARG),
      spanProcessors: [
        new sdk.BatchSpanProcessor({
          exporter: new OTLPTraceExporter(),
          maxQueueSize: 8_192,
          scheduledDelayMillis: core.getNumberFromEnv('OTEL_BSP_SCHEDULE_DELAY') ?? 5_000,
        }),
      ],
    });
    this.tracer = this.provider.getTracer('order-lookup-services');
    log.write('info', 'traces are on', { sampler: OTEL_TRACES_SAMPLER });
  }

  request(request: TracedRequest, status: number, milliseconds: number) {
    const { operation, requestId, headers } = request;
    const parent = this.propagator.extract(api.ROOT_CONTEXT, headers, api.defaultTextMapGetter);
    const [method] = METHOD.exec(request.method ?? '') ?? [];
    const route = operation === 'none' ? undefined : operation;
    const end = Date.now();
    const span = this.tracer.startSpan(
      [method ?? 'HTTP', route].join(' ').trim(),
      {
        kind: api.SpanKind.SERVER,
        startTime: end - milliseconds,
        attributes: {
          'http.request.method': method ?? '_OTHER',
          'http.response.status_code': status,
          'http.response.header.x-request-id': [requestId],
          'http.route': route,
          'url.scheme': 'http',
          // The path of a route without parameters is the route. Any other path may hold what a caller sent by mistake, such as a key
          'url.path': /[:*]/.test(operation) ? undefined : route,
          'error.type': status >= 500 ? String(status) : undefined,
        },
      },
      parent,
    );
    if (status >= 500) span.setStatus({ code: api.SpanStatusCode.ERROR });
    const { traceId, spanId } = span.spanContext();
    const isSampled = span.isRecording();
    span.end(end);
    return isSampled ? { trace_id: traceId, span_id: spanId } : {};
  }

  async stop(): Promise<void> {
    const timeout = pause(FLUSH_MS, undefined, { ref: false });
    await Promise.race([this.provider.shutdown().catch(() => undefined), timeout]);
  }
}

/** The sampler of OTEL_TRACES_SAMPLER, for the share of OTEL_TRACES_SAMPLER_ARG: always_on is the share 1, always_off 0. */
function samplerOf(name: string, share: string): sdk.Sampler {
  const shareOf = name.endsWith('always_on') ? 1 : name.endsWith('always_off') ? 0 : share || 1;
  const root = new sdk.TraceIdRatioBasedSampler(Number(shareOf));
  return name.startsWith('parentbased_') ? new sdk.ParentBasedSampler({ root }) : root;
}
