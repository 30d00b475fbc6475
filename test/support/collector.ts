// A collector of traces: OTLP over HTTP with protobuf. The numbers of the fields come from opentelemetry-proto.
import { once } from 'node:events';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from './ports.js';
import { limitWait } from './waiting.js';

/** The time limits of the exporter. With the usual limits a slow machine would drop spans. */
const HOUR_MS = '3600000';
const [SPAN_KIND_SERVER, STATUS_CODE_ERROR] = [2, 2];
const STATUSES = { takes: 200, refuses: 503, drops: 400 };

export class Collector {
  readonly spans: CollectedSpan[] = [];
  readonly headers: NodeJS.Dict<string | string[]>[] = [];
  /** After `refuses` the exporter sends the spans again, and after `drops` it does not. */
  behaviour: 'takes' | 'refuses' | 'drops' | 'hangs' = 'takes';

  private constructor(
    private readonly server: Server,
    private readonly port: number,
  ) {
    server.setMaxListeners(Infinity); // each call of `received` waits for the event `spans`, which `take` emits
    server.on('request', (request, response) => void this.take(request, response));
  }

  static async start(): Promise<Collector> {
    const server = createServer({ keepAliveTimeout: 0 }); // otherwise an idle connection of a slow client is closed
    return new Collector(server, await listen(server));
  }

  /** The variables with which a service sends its traces here, almost immediately and with time limits of an hour. */
  get environment(): Record<string, string> {
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${this.port}`,
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_BSP_EXPORT_TIMEOUT: HOUR_MS,
      OTEL_EXPORTER_OTLP_TIMEOUT: HOUR_MS,
    };
  }

  /** Returns the spans for which `fits` is true, as soon as `count` such spans have come. */
  received(count: number, fits = (_span: CollectedSpan): boolean => true): Promise<CollectedSpan[]> {
    const wait = async (): Promise<CollectedSpan[]> => {
      for (;;) {
        const found = this.spans.filter(fits);
        if (found.length >= count) return found;
        await once(this.server, 'spans');
      }
    };
    return limitWait(`${count} spans: ${fits.toString()}`, wait);
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = await buffer(request);
    if (this.behaviour === 'hangs') return;
    response.writeHead(STATUSES[this.behaviour]).end();
    if (this.behaviour !== 'takes') return;
    this.headers.push(request.headers);
    const resourceSpans = new ProtobufMessage(bytes).messages(1);
    this.spans.push(...resourceSpans.flatMap(readSpans));
    this.server.emit('spans');
  }

  async close(): Promise<void> {
    this.server.close().closeAllConnections();
    await once(this.server, 'close');
  }
}

/** Reads attributes whose values are texts, lists of texts, or integers. */
function readAttributes(owner: ProtobufMessage, field: number): Record<string, unknown> {
  const entries = owner.messages(field).map((pair) => [pair.text(1), readValue(pair)] as const);
  return Object.fromEntries(entries);
}

function readValue(pair: ProtobufMessage): unknown {
  const [value] = pair.messages(2);
  const [list] = value?.messages(5) ?? [];
  if (list) return list.messages(1).map((entry) => entry.text(1));
  return value?.text(1) || value?.integer(3);
}

function readSpans(resourceSpans: ProtobufMessage): CollectedSpan[] {
  const [resource] = resourceSpans.messages(1);
  const resourceAttributes = resource ? readAttributes(resource, 1) : {};
  const scopes = resourceSpans.messages(2);
  const spans = scopes.flatMap((scope) => scope.messages(2));
  return spans.map((span) => readSpan(span, resourceAttributes));
}

function readSpan(span: ProtobufMessage, resource: Record<string, unknown>): CollectedSpan {
  const [status] = span.messages(15);
  const nanoseconds = span.bytes(8).readBigUInt64LE() - span.bytes(7).readBigUInt64LE();
  return {
    traceId: span.bytes(1).toString('hex'),
    spanId: span.bytes(2).toString('hex'),
    traceState: span.text(3),
    parentSpanId: span.bytes(4).toString('hex'),
    name: span.text(5),
    isServer: span.integer(6) === SPAN_KIND_SERVER,
    milliseconds: Number(nanoseconds) / 1e6,
    attributes: readAttributes(span, 9),
    events: span.messages(11).map((event) => event.text(2)),
    linkedTraceIds: span.messages(13).map((link) => link.bytes(1).toString('hex')),
    isError: status?.integer(3) === STATUS_CODE_ERROR,
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
  /** The names of the span's events. An exception would be such an event, with its message. */
  readonly events: readonly string[];
  readonly linkedTraceIds: readonly string[];
  readonly isError: boolean;
  readonly statusMessage: string;
  readonly resource: Record<string, unknown>;
}

type WireValue = bigint | Buffer;

interface WireField {
  readonly number: number;
  readonly value: WireValue;
}

/** A message in the encoding of protobuf, whose fields have numbers instead of names. */
class ProtobufMessage {
  private readonly fields: readonly WireField[];

  constructor(bytes: Buffer) {
    this.fields = [...new WireReader(bytes).fields()];
  }

  integer(number: number): number {
    const [value] = this.values(number);
    return typeof value === 'bigint' ? Number(value) : 0;
  }

  bytes(number: number): Buffer {
    const [value] = this.values(number);
    return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
  }

  text(number: number): string {
    return this.bytes(number).toString();
  }

  messages(number: number): ProtobufMessage[] {
    const values = this.values(number).filter((value) => Buffer.isBuffer(value));
    return values.map((value) => new ProtobufMessage(value));
  }

  private values(number: number): WireValue[] {
    return this.fields.filter((field) => field.number === number).map(({ value }) => value);
  }
}

class WireReader {
  private position = 0;

  constructor(private readonly bytes: Buffer) {}

  /** Reads all fields. A tag has the wire type in its lowest three bits, and the number of the field in the others. */
  *fields(): Generator<WireField> {
    while (this.position < this.bytes.length) {
      const tag = Number(this.readVarint());
      yield { number: tag >> 3, value: this.readValue(tag & 7) };
    }
  }

  private readValue(wireType: number): WireValue {
    switch (wireType) {
      case 0:
        return this.readVarint();
      case 1:
        return this.take(8);
      case 2: // the length, and then the bytes of a text or a message
        return this.take(Number(this.readVarint()));
      case 5:
        return this.take(4);
      default:
        throw new Error(`protobuf has no wire type ${wireType}`);
    }
  }

  /** Reads a number: seven bits of each byte, the lowest first. The eighth bit says that a further byte follows. */
  private readVarint(): bigint {
    let result = 0n;
    let shift = 0n;
    for (;;) {
      const byte = this.take(1).readUInt8();
      result |= BigInt(byte & 127) << shift;
      if (byte < 128) return result;
      shift += 7n;
    }
  }

  private take(length: number): Buffer {
    const start = this.position;
    this.position += length;
    return this.bytes.subarray(start, this.position);
  }
}
