import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, defaultTextMapGetter, diag } from '@opentelemetry/api';
import {
  type ExportResult,
  ExportResultCode,
  W3CTraceContextPropagator,
  setGlobalErrorHandler,
} from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  type Resource,
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace-node';
import { RepeatedFailure } from './repeated-failure.js';
import type { RequestSpan, SpanEnd } from './request-span.js';
import type { ServiceLogger } from './service-logger.js';

const SERVICE_NAME = 'order-lookup-services';
/** How long the end of the process waits for a collector that stalls. */
const STOP_TIMEOUT_MS = 2_000;
/** The semantic conventions name every other method `_OTHER`, so that callers cannot make new names of spans. */
const KNOWN_METHODS = new Set(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE']);

/**
 * OpenTelemetry's SDK for traces. Its packages read from the environment OTEL_EXPORTER_OTLP_*, OTEL_TRACES_SAMPLER,
 * OTEL_TRACES_SAMPLER_ARG, OTEL_BSP_*, OTEL_SPAN_*, OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME. Nobody reads
 * OTEL_TRACES_EXPORTER, OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_PROPAGATORS and OTEL_LOG_LEVEL (docs/decisions.md).
 *
 * The tracer is not registered as the global one: an auto-instrumentation that a platform injects registers its own.
 */
export class OpenTelemetry {
  private readonly propagator = new W3CTraceContextPropagator();
  private readonly provider: NodeTracerProvider;

  constructor(logger: ServiceLogger) {
    logDiagnostics(logger);
    const failure = new RepeatedFailure(logger, 'sending traces');
    // The batch processor reports here what the collector refused, and what took too long. No caller notices
    setGlobalErrorHandler((error) => failure.failed(error, { name: 'none' }));
    this.provider = new NodeTracerProvider({
      resource: describeService(),
      spanProcessors: [new BatchSpanProcessor(new WatchedExporter(failure))],
    });
    logger.log({ message: 'traces are on' });
  }

  /** Starts the span of a request. Undefined where the sampler leaves the request out. */
  startRequest(request: Pick<IncomingMessage, 'method' | 'headers'>): RequestSpan | undefined {
    const { method = '', headers } = request;
    const parent = this.propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
    const tracer = this.provider.getTracer(SERVICE_NAME);
    const isKnown = KNOWN_METHODS.has(method);
    const attributes = {
      'http.request.method': isKnown ? method : '_OTHER',
      'url.scheme': 'http',
    };
    const name = isKnown ? method : 'HTTP';
    const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
    return span.isRecording() ? new RecordedSpan(span, name) : undefined;
  }

  /** Sends the last spans, or gives up a collector that does not take them in time. */
  async stop(): Promise<void> {
    await Promise.race([this.shutDown(), pause(STOP_TIMEOUT_MS, undefined, { ref: false })]);
  }

  private async shutDown(): Promise<void> {
    try {
      await this.provider.shutdown();
    } catch {
      // The global error handler has logged the reason
    }
  }
}

/** The exporter for OTLP, which also notes that the collector takes spans again. */
class WatchedExporter extends OTLPTraceExporter {
  constructor(private readonly failure: RepeatedFailure) {
    super();
  }

  override export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    super.export(spans, (result) => {
      if (result.code === ExportResultCode.SUCCESS) this.failure.succeeded();
      done(result);
    });
  }
}

/** A span of OpenTelemetry, with the attributes that the semantic conventions name for HTTP servers. */
class RecordedSpan implements RequestSpan {
  readonly traceId: string;
  readonly spanId: string;

  constructor(
    private readonly span: Span,
    /** The method as the name of the span has it. */
    private readonly method: string,
  ) {
    const { traceId, spanId } = span.spanContext();
    this.traceId = traceId;
    this.spanId = spanId;
  }

  end({ operation, status, requestId, isFailed }: SpanEnd): void {
    this.span.setAttribute('http.response.status_code', status);
    this.span.setAttribute('http.response.header.x-request-id', [requestId]);
    if (operation !== undefined) this.setRoute(operation);
    if (isFailed) {
      this.span.setAttribute('error.type', status >= 500 ? String(status) : '_OTHER');
      this.span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.span.end();
  }

  private setRoute(operation: string): void {
    this.span.updateName(`${this.method} ${operation}`);
    this.span.setAttribute('http.route', operation);
    const hasParameters = /[:*]/.test(operation);
    // The path of a route with parameters may hold what a caller sent by mistake, such as a key
    if (!hasParameters) this.span.setAttribute('url.path', operation);
  }
}

/** The attributes of the service. Those that the environment sets win over our name. */
function describeService(): Resource {
  return defaultResource()
    .merge(resourceFromAttributes({ 'service.name': SERVICE_NAME }))
    .merge(detectResources({ detectors: [serviceInstanceIdDetector, envDetector] }));
}

/**
 * Writes OpenTelemetry's warnings, such as those about a variable, into our log. The diagnostic logger is one for the
 * process: if an agent has set its own before, OpenTelemetry warns in both logs that ours replaces it.
 */
function logDiagnostics(logger: ServiceLogger): void {
  const ignore = (): void => undefined; // these levels are for the developers of OpenTelemetry
  const entryOf = (text: string, details: unknown[]) => ({
    message: `OpenTelemetry: ${text}`,
    details: details.length > 0 ? details : undefined,
  });
  diag.setLogger({
    error: (text, ...details) => logger.error(entryOf(text, details)),
    warn: (text, ...details) => logger.warn(entryOf(text, details)),
    info: ignore,
    debug: ignore,
    verbose: ignore,
  });
}
