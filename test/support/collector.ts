// A collector of traces: OTLP over HTTP with protobuf. The numbers of fields are those of opentelemetry-proto.
import { once } from 'node:events';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from './listen.js';
import { ProtobufMessage } from './protobuf-message.js';

/** In milliseconds: what a slow machine has not sent in time would be dropped. */
const NEVER = '3600000';
const STATUSES = { takes: 200, refuses: 503, drops: 400 };

export class Collector {
  readonly spans: CollectedSpan[] = [];
  readonly headers: NodeJS.Dict<string | string[]>[] = [];
  /** `refuses` is an answer that the exporter tries again, `drops` one that it does not. */
  behaviour: 'takes' | 'refuses' | 'drops' | 'hangs' = 'takes';

  private constructor(
    private readonly server: Server,
    private readonly port: number,
  ) {
    server.setMaxListeners(0);
    server.on('request', (request, response) => void this.take(request, response));
  }

  static async start(): Promise<Collector> {
    const server = createServer({ keepAliveTimeout: 0 }); // a slow client would send when its connection is closed
    return new Collector(server, await listen(server));
  }

  /** What the service is told to send traces here: without pause between the batches, and as long as it takes. */
  get environment(): Record<string, string> {
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${this.port}`,
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_BSP_EXPORT_TIMEOUT: NEVER,
      OTEL_EXPORTER_OTLP_TIMEOUT: NEVER,
    };
  }

  /** Resolves when as many spans have come as `count` says, of those that fit. */
  async received(count: number, fits = (_span: CollectedSpan): boolean => true): Promise<CollectedSpan[]> {
    for (;;) {
      const found = this.spans.filter(fits);
      if (found.length >= count) return found;
      await once(this.server, 'spans');
    }
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = await buffer(request);
    if (this.behaviour === 'hangs') return;
    response.writeHead(STATUSES[this.behaviour]).end();
    if (this.behaviour !== 'takes') return;
    this.headers.push(request.headers);
    const resourceSpans = new ProtobufMessage(bytes).messages(1);
    this.spans.push(...resourceSpans.flatMap(spansOf));
    this.server.emit('spans');
  }

  async close(): Promise<void> {
    this.server.close().closeAllConnections();
    await once(this.server, 'close');
  }
}

/** Attributes: texts, lists of texts, and integers. */
function attributesOf(owner: ProtobufMessage, field: number): Record<string, unknown> {
  const entries = owner.messages(field).map((pair) => [pair.text(1), valueOf(pair)] as const);
  return Object.fromEntries(entries);
}

function valueOf(pair: ProtobufMessage): unknown {
  const [value] = pair.messages(2);
  const [list] = value?.messages(5) ?? [];
  if (list) return list.messages(1).map((entry) => entry.text(1));
  return value?.text(1) || value?.integer(3);
}

function spansOf(resourceSpans: ProtobufMessage): CollectedSpan[] {
  const [resource] = resourceSpans.messages(1);
  const resourceAttributes = resource ? attributesOf(resource, 1) : {};
  const scopes = resourceSpans.messages(2);
  const spans = scopes.flatMap((scope) => scope.messages(2));
  return spans.map((span) => spanOf(span, resourceAttributes));
}

function spanOf(span: ProtobufMessage, resource: Record<string, unknown>): CollectedSpan {
  const [status] = span.messages(15);
  const nanoseconds = span.bytes(8).readBigUInt64LE() - span.bytes(7).readBigUInt64LE();
  return {
    traceId: span.bytes(1).toString('hex'),
    spanId: span.bytes(2).toString('hex'),
    traceState: span.text(3),
    parentSpanId: span.bytes(4).toString('hex'),
    name: span.text(5),
    isServer: span.integer(6) === 2,
    milliseconds: Number(nanoseconds) / 1e6,
    attributes: attributesOf(span, 9),
    events: span.messages(11).map((event) => event.text(2)),
    linkedTraceIds: span.messages(13).map((link) => link.bytes(1).toString('hex')),
    isError: status?.integer(3) === 2,
    statusMessage: status?.text(2) ?? '',
    resource,
  };
}

interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceState: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly isServer: boolean;
  readonly milliseconds: number;
  readonly attributes: Record<string, unknown>;
  /** Their names. An exception would be one, with its message. */
  readonly events: readonly string[];
  readonly linkedTraceIds: readonly string[];
  readonly isError: boolean;
  readonly statusMessage: string;
  readonly resource: Record<string, unknown>;
}
