import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Request } from 'express';

/** The least size of a body that is compressed, in bytes. A smaller one gains nothing (RFC 9110 section 8.4). */
export const COMPRESSIBLE_FROM_BYTES = 16 * 1024;
/** The length of a tag: 22 characters of base64url are 132 bits, so that two contents never have the same tag. */
const TAG_CHARACTERS = 22;
/** From quality 7 on brotli takes more than twice the time of gzip. */
const BROTLI_OPTIONS = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } };

const compressWithGzip = promisify(gzip);
const compressWithBrotli = promisify(brotliCompress);
/** The content codings (RFC 9110 section 8.4.1), in our order, which counts where a client has no preference. */
const CODINGS = [
  { coding: 'gzip', compress: (body: Buffer) => compressWithGzip(body) },
  { coding: 'br', compress: (body: Buffer) => compressWithBrotli(body, BROTLI_OPTIONS) },
];
/** The name of the uncompressed representation in Accept-Encoding. */
const IDENTITY = 'identity';

/** One body is compressed at a time in the process, since access tokens are verified in the same threads. */
const compression = { isRunning: false };

/** A body as it is sent. Each representation has a strong entity tag of its own (RFC 9110 section 8.8.3). */
export interface Representation {
  /** The value of Content-Encoding; undefined for identity. */
  readonly coding?: string;
  /** The content to send. Node.js writes a text in one piece with the header, but bytes as a second piece. */
  readonly content: Buffer | string;
  readonly length: number;
  readonly etag: string;
}

/** A body and, where it is compressible, its compressed forms. They are made in the background, for all requests. */
export class Representations {
  readonly identity: Representation;
  /** Whether Accept-Encoding may matter, also while the body is too small. */
  readonly isCompressible: boolean;
  private readonly tag: string;
  /** The body, if it gets compressed forms. */
  private readonly largeBody: Buffer | undefined;
  private readonly compressed = new Map<string, Representation>();
  /** The codings that are ready. */
  private offered = [IDENTITY];

  constructor(body: Buffer, options: { readonly isCompressible: boolean }) {
    this.tag = hash('sha256', body, 'base64url').slice(0, TAG_CHARACTERS);
    this.isCompressible = options.isCompressible;
    const isLarge = body.length >= COMPRESSIBLE_FROM_BYTES;
    if (isLarge && options.isCompressible) this.largeBody = body;
    this.identity = {
      content: !isLarge && isUtf8(body) ? body.toString() : body,
      length: body.length,
      etag: `"${this.tag}"`,
    };
  }

  /** The representation that Accept-Encoding of the request prefers among those that are ready. */
  preferredBy(request: Request): Representation {
    if (!this.largeBody) return this.identity;
    this.compressMissing();
    const coding = request.acceptsEncodings(this.offered);
    if (coding === false) return this.identity; // a client that accepts nothing gets what every client can read
    return this.compressed.get(coding) ?? this.identity;
  }

  /**
   * Makes the compressed forms that are missing. Does nothing while another body is being compressed: a queue would
   * keep bodies that nobody needs any more. The next request for this body tries again.
   */
  compressMissing(): void {
    const isComplete = this.compressed.size === CODINGS.length;
    if (!this.largeBody || isComplete || compression.isRunning) return;
    void this.compressEach(this.largeBody);
  }

  private async compressEach(body: Buffer): Promise<void> {
    compression.isRunning = true;
    for (const { coding, compress } of CODINGS) {
      if (this.compressed.has(coding)) continue;
      try {
        this.add(coding, await compress(body));
      } catch {
        // Without memory for this coding callers get another one, and a later request tries again
      }
    }
    compression.isRunning = false;
  }

  private add(coding: string, content: Buffer): void {
    const etag = `"${this.tag}-${coding}"`;
    this.compressed.set(coding, { coding, content, length: content.length, etag });
    const ready = CODINGS.map((each) => each.coding).filter((each) => this.compressed.has(each));
    this.offered = [...ready, IDENTITY];
  }
}
