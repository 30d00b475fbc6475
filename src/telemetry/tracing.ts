import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import {
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  defaultTextMapGetter,
  diag,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator, setGlobalErrorHandler } from '@opentelemetry/core';
import type { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { Configuration } from '../configuration/configuration.js';
import { RepeatedFailure } from './repeated-failure.js';
import type { ServiceLogger } from './service-logger.js';

const SERVICE_NAME = 'order-lookup-services';
/** The longest time for which `stop` waits for a collector that stalls. */
const STOP_TIMEOUT_MS = 2_000;
/**
 * The methods that a span shows. For any other method, the attribute is `_OTHER` and the span's name is HTTP. Otherwise
 * callers could invent names of spans.
 */
const KNOWN_METHODS = new Set(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE']);

interface SpanEnd {
  readonly operation: string | undefined;
  readonly status: number;
  readonly requestId: string;
  /** True if the service failed, also if it failed after the status was sent. */
  readonly isFailed: boolean;
}

/** If traces are off, or this request is not sampled, there is no `spanId`, and `end` does nothing. */
export interface RequestSpan {
  readonly traceId: string;
  readonly spanId?: string;
  readonly end: (end: SpanEnd) => void;
}

/** Makes the server spans of requests. OpenTelemetry's SDK is loaded only if a collector is configured. */
@Injectable()
export class Tracing {
  private readonly propagator = new W3CTraceContextPropagator();
  /** Our own tracer. OpenTelemetry's global tracer may belong to an agent of the platform. */
  private readonly tracer: Tracer | undefined;

  constructor(private readonly provider?: NodeTracerProvider) {
    this.tracer = provider?.getTracer(SERVICE_NAME);
  }

  /** Starts the span of a request. Returns undefined if no span is recorded and the request names no trace. */
  startRequest({ method = '', headers }: Pick<IncomingMessage, 'method' | 'headers'>): RequestSpan | undefined {
    const parent = this.propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
    const isKnown = KNOWN_METHODS.has(method);
    const attributes = { 'http.request.method': isKnown ? method : '_OTHER', 'url.scheme': 'http' };
    const name = isKnown ? method : 'HTTP';
    const span = this.tracer?.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
    if (span?.isRecording()) {
      const { traceId, spanId } = span.spanContext();
      return { traceId, spanId, end: (end) => endSpan(span, name, end) };
    }
    const traceId = trace.getSpanContext(parent)?.traceId;
    return traceId === undefined ? undefined : { traceId, end: () => undefined };
  }

  /** Sends the last spans. If the collector does not take them in time, they are lost. */
  async stop(): Promise<void> {
    const ended = this.provider?.shutdown().catch(() => undefined); // the global error handler has logged the reason
    await Promise.race([ended, pause(STOP_TIMEOUT_MS, undefined, { ref: false })]);
  }
}

function endSpan(span: Span, method: string, { operation, status, requestId, isFailed }: SpanEnd): void {
  span.setAttribute('http.response.status_code', status);
  span.setAttribute('http.response.header.x-request-id', [requestId]);
  if (operation !== undefined) {
    span.updateName(`${method} ${operation}`);
    span.setAttribute('http.route', operation);
    const hasParameters = /[:*]/.test(operation); // then the path may contain a key that a caller sent by mistake
    if (!hasParameters) span.setAttribute('url.path', operation);
  }
  if (isFailed) {
    span.setAttribute('error.type', status >= 500 ? String(status) : '_OTHER');
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}

/**
 * Turns traces on if an endpoint is set. If OpenTelemetry throws, traces are off, but the service starts: a platform
 * sets these variables for all its programs, and one may be wrong.
 */
export async function createTracing(configuration: Configuration, logger: ServiceLogger): Promise<Tracing> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT } = configuration;
  const collector = OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || OTEL_EXPORTER_OTLP_ENDPOINT;
  const isDisabled = configuration.OTEL_SDK_DISABLED.toLowerCase() === 'true';
  if (collector === '' || isDisabled) return new Tracing();
  try {
    logDiagnostics(logger); // first, because createTracerProvider may warn of wrong variables
    const tracing = new Tracing(await createTracerProvider());
    logger.log({ message: `traces are on${describeUntracedCalls(configuration.OTEL_TRACES_SAMPLER)}` });
    return tracing;
  } catch (error) {
    logger.warn({ message: 'traces are off: OpenTelemetry cannot be started', error });
    return new Tracing();
  }
}

/** Names the calls without a span. All samplers except these three trace no call whose traceparent ends with 00. */
function describeUntracedCalls(sampler: string): string {
  if (sampler === 'always_off') return ', but OTEL_TRACES_SAMPLER=always_off traces no call';
  if (['always_on', 'traceidratio'].includes(sampler)) return '';
  return ', except for calls whose traceparent ends with 00: OTEL_TRACES_SAMPLER=always_on traces them, too';
}

/**
 * OpenTelemetry's packages read OTEL_EXPORTER_OTLP_*, OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG, OTEL_BSP_*,
 * OTEL_SPAN_*, OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME. docs/decisions.md says why they read no others.
 */
async function createTracerProvider(): Promise<NodeTracerProvider> {
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
  const { BatchSpanProcessor, NodeTracerProvider } = await import('@opentelemetry/sdk-trace-node');
  const { defaultResource, detectResources, envDetector, resourceFromAttributes, serviceInstanceIdDetector } =
    await import('@opentelemetry/resources');
  const ofEnvironment = detectResources({ detectors: [serviceInstanceIdDetector, envDetector] });
  return new NodeTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': SERVICE_NAME }))
      .merge(ofEnvironment), // last, so that a name in the environment replaces ours
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
}

/**
 * Writes OpenTelemetry's warnings into our log. If an agent of the platform has set another logger for them, ours
 * replaces that logger. OpenTelemetry reports the replacement once, in both logs.
 */
function logDiagnostics(logger: ServiceLogger): void {
  const toEntry = (text: string, details: unknown[]) => ({
    message: `OpenTelemetry: ${text}`,
    details: details.length > 0 ? details : undefined,
  });
  const ignore = (): void => undefined;
  diag.setLogger({
    error: (text, ...details) => logger.error(toEntry(text, details)),
    warn: (text, ...details) => logger.warn(toEntry(text, details)),
    info: ignore,
    debug: ignore,
    verbose: ignore,
  });
  // The batch processor reports no success. So nobody calls `noteSuccess`, and `failures` in the log only grows
  const failure = new RepeatedFailure(logger, 'sending traces');
  setGlobalErrorHandler((error) => failure.noteFailure(error, { callers: 'unaffected' }));
}
