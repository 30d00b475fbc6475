// The only file that imports OpenTelemetry's packages. It is loaded only if traces are on.
import { setTimeout as pause } from 'node:timers/promises';
import {
  type Context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  createTraceState,
  trace,
} from '@opentelemetry/api';
import { type ExportResult, ExportResultCode, setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  type ReadableSpan,
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
import type { Metrics } from './metrics.js';
import { RepeatedFailure } from './repeated-failure.js';
import { Sampling } from './sampling.js';
import { type Parent, type TraceFields, type TracedRequest, parentOf } from './trace-context.js';

/** How long the service waits, at most, for a collector that stalls to accept the last spans. */
const FLUSH_MS = 2_000;
/** Other methods are _OTHER, so that nobody can make new names of spans. */
const METHOD = /^(GET|HEAD|OPTIONS|POST|PUT|PATCH|DELETE|TRACE|CONNECT)$/;

export class OpenTelemetry {
  private readonly provider: TracerProvider;
  private readonly tracer: Tracer;
  private readonly sampling: Sampling;

  constructor(
    configuration: Configuration,
    log: Log,
    private readonly metrics: Metrics,
  ) {
    this.sampling = new Sampling(configuration);
    const failure = new RepeatedFailure(log, 'sending traces');
    setGlobalErrorHandler((error) => failure.failed(error));
    this.provider = new TracerProvider({
      resource: defaultResource()
        .merge(resourceFromAttributes({ [ATTR_SERVICE_NAME]: configuration.OTEL_SERVICE_NAME }))
        .merge(detectResources({ detectors: [serviceInstanceIdDetector, envDetector] })),
      sampler: new AlwaysOnSampler(), // a span is made only if it is sampled
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: new CountingExporter(metrics, () => failure.succeeded()),
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
  request(request: TracedRequest, status: number, milliseconds: number): TraceFields {
    const { method, operation, requestId } = request;
    const parent = parentOf(request.field('traceparent'));
    if (!this.sampling.includes(parent)) return { trace_id: parent?.traceId };
    const end = Date.now();
    const known = METHOD.test(method ?? '') ? (method as string) : '_OTHER';
    const verb = known === '_OTHER' ? 'HTTP' : known;
    const span = this.tracer.startSpan(
      operation === 'none' ? verb : `${verb} ${operation}`,
      {
        kind: SpanKind.SERVER,
        startTime: end - milliseconds,
        attributes: {
          [ATTR_HTTP_REQUEST_METHOD]: known,
          [ATTR_HTTP_RESPONSE_STATUS_CODE]: status,
          [ATTR_HTTP_RESPONSE_HEADER('x-request-id')]: [requestId],
          [ATTR_URL_SCHEME]: 'http',
        },
      },
      parent ? contextOf(parent, request.field('tracestate')) : ROOT_CONTEXT,
    );
    if (operation !== 'none') span.setAttribute(ATTR_HTTP_ROUTE, operation);
    // The path of a route without parameters is the route itself. Any other path may hold what a caller sent by mistake, such as a key
    if (operation !== 'none' && !/[:*]/.test(operation))
      span.setAttribute(ATTR_URL_PATH, operation);
    if (status >= 500) {
      span.setAttribute(ATTR_ERROR_TYPE, String(status));
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end(end);
    this.metrics.spans.inc({ result: 'recorded' });
    const { traceId, spanId } = span.spanContext();
    return { trace_id: traceId, span_id: spanId };
  }

  async work<Result>(
    name: string,
    attributes: Record<string, string>,
    work: () => Promise<Result>,
  ): Promise<Result> {
    if (!this.sampling.includes(undefined)) return work();
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
      this.metrics.spans.inc({ result: 'recorded' });
    }
  }

  async stop(): Promise<void> {
    await Promise.race([this.provider.shutdown().catch(() => undefined), pause(FLUSH_MS)]);
  }
}

/** The exporter reads its own variables, OTEL_EXPORTER_OTLP_…; this reports for each batch whether the collector accepted it. */
class CountingExporter extends OTLPTraceExporter {
  constructor(
    private readonly metrics: Metrics,
    private readonly onSuccess: () => void,
  ) {
    super();
  }

  override export(batch: ReadableSpan[], done: (result: ExportResult) => void): void {
    super.export(batch, (result) => {
      const sent = result.code === ExportResultCode.SUCCESS;
      this.metrics.spans.inc({ result: sent ? 'sent' : 'failed' }, batch.length);
      if (sent) this.onSuccess();
      done(result);
    });
  }
}

const contextOf = ({ traceId, spanId, isSampled }: Parent, tracestate?: string): Context =>
  trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  });
