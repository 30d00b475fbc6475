type WireValue = bigint | Buffer;

interface WireField {
  readonly number: number;
  readonly value: WireValue;
}

/** A message in the encoding of protobuf. Its fields are asked for by their numbers. */
export class ProtobufMessage {
  private readonly fields: readonly WireField[];

  constructor(bytes: Buffer) {
    this.fields = [...new Reader(bytes).fields()];
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

class Reader {
  private position = 0;

  constructor(private readonly buffer: Buffer) {}

  *fields(): Generator<WireField> {
    while (this.position < this.buffer.length) {
      const tag = Number(this.varint());
      yield { number: tag >> 3, value: this.value(tag & 7) };
    }
  }

  private value(wireType: number): WireValue {
    switch (wireType) {
      case 0:
        return this.varint();
      case 1:
        return this.take(8);
      case 2:
        return this.take(Number(this.varint()));
      case 5:
        return this.take(4);
      default:
        throw new Error(`protobuf has no wire type ${wireType}`);
    }
  }

  /** Seven bits in each byte, the lowest first; the eighth says that there are more. */
  private varint(): bigint {
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
    return this.buffer.subarray(start, this.position);
  }
}
