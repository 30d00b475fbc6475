// Answers in content codings (RFC 9110 sections 8.4 and 12.5.3). A coding is made once, on the first request for it, in the thread pool of
// zlib. Until it is there, callers get identity: no answer waits for a coding. The process makes one coding at a time, because new access
// tokens are verified in the same threads.
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import Negotiator from 'negotiator';
import { Answer, type AnswerKind } from './answer.js';

/** Answers of this size and more have codings, in bytes. */
export const NEGOTIATED_FROM = 16 * 1024;
/** Most bytes of all codings of a snapshot. */
const MOST_BYTES = 32 * 1024 ** 2;

const OPTIONS = { chunkSize: 64 * 1024 };
const ENCODERS = {
  gzip: () => createGzip(OPTIONS),
  // From quality 7 on brotli takes more than twice the time of gzip
  br: () => createBrotliCompress({ ...OPTIONS, params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }),
};
type Coding = keyof typeof ENCODERS;
const CODINGS = Object.keys(ENCODERS) as Coding[];
const OFFERED = [...CODINGS, 'identity'];

let isMaking = false;

/** The memory that the codings of a snapshot share. */
export class CodingMemory {
  bytes = MOST_BYTES;
}

/** A large answer, which is sent in the coding that the caller prefers. */
export class NegotiatedAnswer extends Answer {
  /** The codings that were begun. Undefined until they are made, and where one did not fit into the memory. */
  private readonly codings = new Map<Coding, Answer | undefined>();

  constructor(
    parts: readonly Buffer[],
    etag: string,
    kind: AnswerKind,
    private readonly memory: CodingMemory,
  ) {
    super(parts, etag, kind);
  }

  override get etags(): readonly string[] {
    return [this.etag, ...CODINGS.map((coding) => this.etagOf(coding))];
  }

  override representationFor(request: IncomingMessage): Answer {
    for (const coding of new Negotiator(request).encodings(OFFERED) as (Coding | 'identity')[]) {
      if (coding === 'identity') break;
      if (!isMaking && !this.codings.has(coding)) void this.make(coding).catch(() => undefined); // without memory for an encoder callers get identity
      const coded = this.codings.get(coding);
      if (coded) return coded;
    }
    return this;
  }

  private etagOf(coding: Coding): string {
    return `${this.etag.slice(0, -1)}-${coding}"`;
  }

  private async make(coding: Coding): Promise<void> {
    this.codings.set(coding, undefined);
    isMaking = true;
    try {
      const parts: Buffer[] = [];
      let bytes = 0;
      const coded = Readable.from(this.parts).pipe(ENCODERS[coding]());
      for await (const part of coded as AsyncIterable<Buffer>) {
        if ((bytes += part.length) > this.memory.bytes) return;
        parts.push(part);
      }
      this.memory.bytes -= bytes;
      const fields = ['Content-Encoding', coding];
      this.codings.set(coding, new Answer(parts, this.etagOf(coding), this.kind, fields));
    } finally {
      isMaking = false;
    }
  }
}
