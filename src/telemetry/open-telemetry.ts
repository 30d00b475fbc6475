import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import {
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  defaultTextMapGetter,
  diag,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator, setGlobalErrorHandler } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  type Resource,
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { RepeatedFailure } from './repeated-failure.js';
import type { AnsweredRequest, RequestSpan } from './request-span.js';
import type { ServiceLogger } from './service-logger.js';

const SERVICE_NAME = 'order-lookup-services';
/** How long the end of the process waits for a collector that stalls. */
const STOP_TIMEOUT_MS = 2_000;
/** The semantic conventions name every other method `_OTHER`, so that callers cannot make new names of spans. */
const KNOWN_METHODS = new Set([
  'CONNECT',
  'DELETE',
  'GET',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'POST',
  'PUT',
  'TRACE',
]);

/**
 * OpenTelemetry's SDK for traces, which reads its variables from the environment itself. It is not registered as the
 * global one: an auto-instrumentation that a platform injects registers its own.
 */
export class OpenTelemetry {
  private readonly propagator = new W3CTraceContextPropagator();
  private readonly provider: NodeTracerProvider;

  constructor(logger: ServiceLogger) {
    passMessagesTo(logger);
    this.provider = new NodeTracerProvider({
      resource: describeService(),
      spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
    });
    logger.log({ message: 'traces are on' });
  }

  /** Undefined where the sampler leaves the request out. */
  startRequest({ method = '', headers }: Pick<IncomingMessage, 'method' | 'headers'>) {
    const parent = this.propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter);
    const tracer = this.provider.getTracer(SERVICE_NAME);
    const isKnown = KNOWN_METHODS.has(method);
    const attributes = {
      'http.request.method': isKnown ? method : '_OTHER',
      'url.scheme': 'http',
    };
    const name = isKnown ? method : 'HTTP';
    const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
    return span.isRecording() ? recordedSpan(span, name) : undefined;
  }

  /** Sends the last spans, or gives up a collector that does not take them in time. */
  async stop(): Promise<void> {
    const sent = this.provider.shutdown().catch(() => undefined); // the reason is logged
    await Promise.race([sent, pause(STOP_TIMEOUT_MS, undefined, { ref: false })]);
  }
}

function recordedSpan(span: Span, name: string): RequestSpan {
  const { traceId, spanId } = span.spanContext();
  const end = ({ operation, status, requestId }: AnsweredRequest): void => {
    span.setAttribute('http.response.status_code', status);
    span.setAttribute('http.response.header.x-request-id', [requestId]);
    if (operation !== 'none') {
      span.updateName(`${name} ${operation}`);
      span.setAttribute('http.route', operation);
      const hasParameters = /[:*]/.test(operation);
      // Any other path may hold what a caller sent by mistake, such as a key
      if (!hasParameters) span.setAttribute('url.path', operation);
    }
    if (status >= 500) {
      span.setAttribute('error.type', String(status));
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end();
  };
  return { traceId, spanId, end };
}

/** What the variables name wins over our name of the service. */
function describeService(): Resource {
  return defaultResource()
    .merge(resourceFromAttributes({ 'service.name': SERVICE_NAME }))
    .merge(detectResources({ detectors: [serviceInstanceIdDetector, envDetector] }));
}

/** Why spans cannot be sent, and what OpenTelemetry warns of, such as a variable, goes into our log. */
function passMessagesTo(logger: ServiceLogger): void {
  const failure = new RepeatedFailure(logger, 'sending traces');
  setGlobalErrorHandler((error) => failure.failed(error));
  const ignore = (): void => undefined; // of interest to the developers of OpenTelemetry
  const entryOf = (text: string, details: unknown[]) => ({
    message: `OpenTelemetry: ${text}`,
    details: details.length > 0 ? details : undefined,
  });
  diag.setLogger(
    {
      error: (text, ...details) => logger.error(entryOf(text, details)),
      warn: (text, ...details) => logger.warn(entryOf(text, details)),
      info: ignore,
      debug: ignore,
      verbose: ignore,
    },
    { suppressOverrideMessage: true },
  );
}
