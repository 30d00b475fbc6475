// The only file that imports OpenTelemetry's packages. It is loaded only if traces are on.
import { setTimeout as pause } from 'node:timers/promises';
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  type Tracer as SpanMaker,
} from '@opentelemetry/api';
import {
  type ExportResult,
  ExportResultCode,
  W3CTraceContextPropagator,
  setGlobalErrorHandler,
} from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import {
  ATTR_ERROR_TYPE,
  ATTR_HTTP_REQUEST_METHOD,
  ATTR_HTTP_RESPONSE_HEADER,
  ATTR_HTTP_RESPONSE_STATUS_CODE,
  ATTR_HTTP_ROUTE,
  ATTR_SERVICE_NAME,
  ATTR_URL_PATH,
  ATTR_URL_SCHEME,
} from '@opentelemetry/semantic-conventions';
import type { Configuration } from '../configuration/configuration.js';
import type { Log } from './log.js';
import { spans } from './metrics.js';
import { RepeatedFailure } from './repeated-failure.js';
import type { TraceFields, TracedRequest, Tracer } from './tracing.js';

/** How long the service waits, at most, for a collector that stalls to accept the last spans. */
const FLUSH_MS = 2_000;
const METHODS = new Set([
  'GET',
  'HEAD',
  'OPTIONS',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'TRACE',
  'CONNECT',
]);

const headGetter: TextMapGetter<TracedRequest['head']> = {
  get: (head, name) => head[name as keyof typeof head],
  keys: (head) => Object.keys(head),
};

export class OpenTelemetry implements Tracer {
  private readonly provider: TracerProvider;
  private readonly tracer: SpanMaker;
  private readonly propagator = new W3CTraceContextPropagator();

  constructor(configuration: Configuration, log: Log) {
    const failure = new RepeatedFailure(log, 'sending traces');
    setGlobalErrorHandler((error) => failure.failed(error));
    this.provider = new TracerProvider({
      resource: defaultResource()
        .merge(resourceFromAttributes({ [ATTR_SERVICE_NAME]: configuration.OTEL_SERVICE_NAME }))
        .merge(detectResources({ detectors: [serviceInstanceIdDetector, envDetector] })),
      sampler: samplerOf(configuration),
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: new CountingExporter(() => failure.succeeded()),
          maxQueueSize: configuration.OTEL_BSP_MAX_QUEUE_SIZE,
          maxExportBatchSize: configuration.OTEL_BSP_MAX_EXPORT_BATCH_SIZE,
          scheduledDelayMillis: configuration.OTEL_BSP_SCHEDULE_DELAY,
        }),
      ],
    });
    this.tracer = this.provider.getTracer('order-lookup-services');
    log.info({ sampler: configuration.OTEL_TRACES_SAMPLER }, 'traces are on');
  }

  /** Created when the reply is sent, with the start time of the request, so that a request that is not sampled costs almost nothing. */
  request(
    { method, operation, requestId, head }: TracedRequest,
    status: number,
    milliseconds: number,
  ): TraceFields {
    const end = Date.now();
    const known = METHODS.has(method ?? '') ? (method as string) : '_OTHER';
    const verb = known === '_OTHER' ? 'HTTP' : known;
    const span = this.tracer.startSpan(
      operation === 'none' ? verb : `${verb} ${operation}`,
      { kind: SpanKind.SERVER, startTime: end - milliseconds },
      this.propagator.extract(ROOT_CONTEXT, head, headGetter),
    );
    if (span.isRecording()) {
      span.setAttributes({
        [ATTR_HTTP_REQUEST_METHOD]: known,
        [ATTR_HTTP_RESPONSE_STATUS_CODE]: status,
        [ATTR_HTTP_RESPONSE_HEADER('x-request-id')]: [requestId],
        [ATTR_URL_SCHEME]: 'http',
      });
      if (operation !== 'none') span.setAttribute(ATTR_HTTP_ROUTE, operation);
      // The path of a route without parameters is the route itself. Any other path may hold what a caller sent by mistake, such as a key
      if (operation !== 'none' && !/[:*]/.test(operation))
        span.setAttribute(ATTR_URL_PATH, operation);
      if (status >= 500) {
        span.setAttribute(ATTR_ERROR_TYPE, String(status));
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end(end);
    }
    const { traceId, spanId } = span.spanContext();
    return { trace_id: traceId, span_id: spanId };
  }

  async work<Result>(
    name: string,
    attributes: Record<string, string>,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const span = this.tracer.startSpan(name, { attributes }, ROOT_CONTEXT);
    try {
      return await work();
    } catch (error) {
      // Not the message of the error, which may quote the request
      const { code, name: kind } = error as { code?: string; name?: string };
      span.setAttribute(ATTR_ERROR_TYPE, String(code ?? kind));
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  }

  async stop(): Promise<void> {
    await Promise.race([this.provider.shutdown().catch(() => undefined), pause(FLUSH_MS)]);
  }
}

/** The exporter reads its own variables, OTEL_EXPORTER_OTLP_…; this reports for each batch whether the collector accepted it. */
class CountingExporter extends OTLPTraceExporter {
  constructor(private readonly onSuccess: () => void) {
    super();
  }

  override export(batch: ReadableSpan[], done: (result: ExportResult) => void): void {
    super.export(batch, (result) => {
      const sent = result.code === ExportResultCode.SUCCESS;
      spans.inc({ result: sent ? 'sent' : 'failed' }, batch.length);
      if (sent) this.onSuccess();
      done(result);
    });
  }
}

function samplerOf({ OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG }: Configuration): Sampler {
  const [kind, parentBased] = [
    OTEL_TRACES_SAMPLER.replace('parentbased_', ''),
    OTEL_TRACES_SAMPLER.startsWith('parentbased_'),
  ];
  const root =
    kind === 'always_on'
      ? new AlwaysOnSampler()
      : kind === 'always_off'
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(Number(OTEL_TRACES_SAMPLER_ARG || 1));
  return parentBased ? new ParentBasedSampler({ root }) : root;
}
