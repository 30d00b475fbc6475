// A collector of traces: OTLP over HTTP with protobuf, as opentelemetry-proto has it (collector/trace/v1, trace/v1, common/v1).
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  /** 1 internal, 2 server. */
  readonly kind: number;
  readonly milliseconds: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  readonly service: unknown;
  readonly resource: Readonly<Record<string, unknown>>;
}

type Behaviour = 'takes' | 'refuses' | 'hangs';

export class Collector {
  readonly spans: CollectedSpan[] = [];
  readonly headers: NodeJS.Dict<string | string[]>[] = [];
  connections = 0;
  behaviour: Behaviour = 'takes';
  private readonly waiting = new Set<() => void>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<Collector> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        if (collector.behaviour === 'hangs') return;
        if (collector.behaviour === 'refuses') {
          response.writeHead(503).end();
          return;
        }
        collector.headers.push(request.headers);
        collector.spans.push(...spansOf(Buffer.concat(chunks)));
        for (const look of collector.waiting) look();
        response.writeHead(200, { 'Content-Type': 'application/x-protobuf' }).end();
      });
    });
    const collector = new Collector(server);
    server.on('connection', () => collector.connections++);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return collector;
  }

  /** What the service is told to send traces here; without pause between the batches. */
  get environment(): Record<string, string> {
    const { port } = this.server.address() as AddressInfo;
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_BSP_SCHEDULE_DELAY: '50',
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
      await new Promise<void>((resolve) => {
        const look = (): void => {
          this.waiting.delete(look);
          resolve();
        };
        this.waiting.add(look);
      });
    }
  }

  close(): Promise<void> {
    const closed = new Promise<void>((resolve) => void this.server.close(() => resolve()));
    this.server.closeAllConnections();
    return closed;
  }
}

type Fields = Map<number, (Buffer | bigint)[]>;

/** The fields of a protobuf message by number: bytes, or an integer. */
function fieldsOf(bytes: Buffer): Fields {
  const fields: Fields = new Map();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++] as number;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const take = (length: number): Buffer => bytes.subarray(at, (at += length));
  while (at < bytes.length) {
    const tag = Number(varint());
    const kind = tag & 7;
    const value =
      kind === 0
        ? varint()
        : kind === 1
          ? take(8).readBigUInt64LE()
          : kind === 5
            ? BigInt(take(4).readUInt32LE())
            : take(Number(varint()));
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value]);
  }
  return fields;
}

const messages = (fields: Fields, number: number): Fields[] =>
  (fields.get(number) ?? []).map((bytes) => fieldsOf(bytes as Buffer));
const bytesOf = (fields: Fields, number: number): Buffer =>
  (fields.get(number)?.[0] as Buffer | undefined) ?? Buffer.alloc(0);
const integerOf = (fields: Fields, number: number): bigint =>
  (fields.get(number)?.[0] as bigint | undefined) ?? 0n;

function valueOf(any: Fields): unknown {
  if (any.has(1)) return bytesOf(any, 1).toString();
  if (any.has(3)) return Number(integerOf(any, 3));
  return messages(any, 5).flatMap((list) => messages(list, 1).map(valueOf));
}

const attributesOf = (pairs: Fields[]): Record<string, unknown> =>
  Object.fromEntries(
    pairs.map((pair) => [
      bytesOf(pair, 1).toString(),
      valueOf(messages(pair, 2)[0] ?? new Map<number, never>()),
    ]),
  );

const spansOf = (bytes: Buffer): CollectedSpan[] =>
  messages(fieldsOf(bytes), 1).flatMap((ofResource) => {
    const resource = attributesOf(messages(ofResource, 1).flatMap((each) => messages(each, 1)));
    return messages(ofResource, 2).flatMap((ofScope) =>
      messages(ofScope, 2).map((span) => ({
        traceId: bytesOf(span, 1).toString('hex'),
        spanId: bytesOf(span, 2).toString('hex'),
        traceState: bytesOf(span, 3).toString(),
        parentSpanId: bytesOf(span, 4).toString('hex'),
        name: bytesOf(span, 5).toString(),
        kind: Number(integerOf(span, 6)),
        milliseconds: Number(integerOf(span, 8) - integerOf(span, 7)) / 1e6,
        attributes: attributesOf(messages(span, 9)),
        isError: messages(span, 15).some((status) => integerOf(status, 3) === 2n),
        service: resource['service.name'],
        resource,
      })),
    );
  });
