// A collector of traces: OTLP over HTTP with protobuf, as opentelemetry-proto has it (collector/trace/v1, trace/v1, common/v1).
import { once } from 'node:events';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from './listen.js';

/** In milliseconds: what a slow machine has not sent in time would be dropped. */
const NEVER = '3600000';

export class Collector {
  readonly spans: CollectedSpan[] = [];
  readonly headers: NodeJS.Dict<string | string[]>[] = [];
  connections = 0;
  behaviour: 'takes' | 'refuses' | 'hangs' = 'takes';

  private constructor(
    private readonly server: Server,
    private readonly port: number,
  ) {
    server.setMaxListeners(0).on('connection', () => this.connections++);
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
  async received(
    count: number,
    fits = (_span: CollectedSpan): boolean => true,
  ): Promise<CollectedSpan[]> {
    for (;;) {
      const found = this.spans.filter(fits);
      if (found.length >= count) return found;
      await once(this.server, 'spans');
    }
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = await buffer(request);
    if (this.behaviour === 'hangs') return;
    response.writeHead(this.behaviour === 'takes' ? 200 : 503).end();
    if (this.behaviour === 'refuses') return;
    this.headers.push(request.headers);
    this.spans.push(...new Message(bytes).all(1).flatMap(spansOf));
    this.server.emit('spans');
  }

  async close(): Promise<void> {
    this.server.close().closeAllConnections();
    await once(this.server, 'close');
  }
}

/** A message in the encoding of protobuf. Its fields are asked for by their numbers. */
class Message {
  private readonly fields: [number: number, value: Buffer | bigint][] = [];

  constructor(bytes: Buffer) {
    let at = 0;
    const varint = (): bigint => {
      const byte = bytes[at++] ?? 0;
      return BigInt(byte & 127) + (byte < 128 ? 0n : varint() * 128n);
    };
    while (at < bytes.length) {
      const tag = Number(varint());
      const kind = tag & 7; // 0 an integer, 1 eight bytes, 2 bytes with their length before them, 5 four bytes
      const length = kind === 1 ? 8 : kind === 5 ? 4 : kind === 2 ? Number(varint()) : 0;
      const value = kind === 0 ? varint() : bytes.subarray(at, (at += length));
      this.fields.push([tag >> 3, value]);
    }
  }

  private values = (number: number): unknown[] =>
    this.fields.flatMap(([one, value]) => (one === number ? [value] : []));
  integer = (number: number): number => Number(this.values(number)[0] ?? 0);
  bytes = (number: number): Buffer => (this.values(number)[0] ?? Buffer.alloc(0)) as Buffer;
  text = (number: number): string => this.bytes(number).toString();
  all = (number: number): Message[] => this.values(number).map((it) => new Message(it as Buffer));

  /** Attributes: text, a list of texts, or an integer. */
  attributes = (number: number): Record<string, unknown> =>
    Object.fromEntries(
      this.all(number).map((pair) => {
        const [value = pair] = pair.all(2);
        const [list] = value.all(5).map((each) => each.all(1).map((entry) => entry.text(1)));
        return [pair.text(1), value.text(1) || (list ?? value.integer(3))];
      }),
    );
}

const spansOf = (ofResource: Message) =>
  ofResource.all(2).flatMap((ofScope) =>
    ofScope.all(2).map((span) => ({
      traceId: span.bytes(1).toString('hex'),
      spanId: span.bytes(2).toString('hex'),
      traceState: span.text(3),
      parentSpanId: span.bytes(4).toString('hex'),
      name: span.text(5),
      isServer: span.integer(6) === 2,
      milliseconds: Number(span.bytes(8).readBigUInt64LE() - span.bytes(7).readBigUInt64LE()) / 1e6,
      attributes: span.attributes(9),
      isError: span.all(15).some((status) => status.integer(3) === 2),
      resource: ofResource.all(1)[0]?.attributes(1) ?? {},
    })),
  );

export type CollectedSpan = ReturnType<typeof spansOf>[number];
