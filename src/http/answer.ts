// Answers, the large ones also in content codings (RFC 9110 sections 8.4 and 12.5.3). A coding is made on the first request for it; until it is
// there, callers get identity. The process makes one at a time, because new access tokens are verified in the same threads.
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import Negotiator from 'negotiator';

/** Answers of this size and more have codings, in bytes. */
export const NEGOTIATED_FROM = 16 * 1024;
/** From quality 7 on brotli takes more than twice the time of gzip. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } };
const ENCODERS = new Map<string, (body: Buffer) => Promise<Buffer>>([
  ['gzip', promisify(gzip)],
  ['br', (body) => promisify(brotliCompress)(body, BROTLI)],
]);
const CODINGS = [...ENCODERS.keys()];
const NO_SNIFFING = ['X-Content-Type-Options', 'nosniff'];

interface AnswerKind {
  readonly type: string;
  /** Of 200 and of 304, as a flat list of names and values: Node.js sends it fastest. */
  readonly fields: readonly string[];
}

/** Caches ask before each use (RFC 9111), and may use the answer for a day instead of our 5xx (RFC 5861). */
const LOOKUP = ['Cache-Control', 'private, max-age=0, stale-if-error=86400', ...NO_SNIFFING];
const SUPPORTED_VALUES: AnswerKind = { type: 'application/json', fields: LOOKUP };
const CODED = [...LOOKUP, 'Vary', 'Accept-Encoding'];
export const COMMUNICATION_CODES: AnswerKind = { type: 'application/json', fields: CODED };

/** A 200 answer as bytes that are ready to be sent. It is created once, shared by all callers, and never changed. */
export class Answer {
  private static isMaking = false;
  /** Header fields of a 200, as a flat list. The first is X-Request-Id, whose value is that of the request. */
  readonly fields: readonly string[];
  /** What is sent. Small parts are one text, whose latin1 bytes are theirs: Node.js writes it in one call with the header. As bytes a filter takes 13 % more CPU time. */
  readonly chunks: readonly (Buffer | string)[];
  private readonly isNegotiated: boolean;
  private readonly coded = new Map<string, Answer>();

  /** @param etag strong, with its quotes (RFC 9110 section 8.8.3), computed from the content only */
  constructor(
    readonly parts: readonly Buffer[],
    readonly etag: string,
    readonly kind = SUPPORTED_VALUES,
    rest: readonly string[] = [],
  ) {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    this.chunks = length < NEGOTIATED_FROM ? [Buffer.concat(parts).toString('latin1')] : parts;
    const content = ['Content-Type', kind.type, 'Content-Length', String(length), ...rest];
    this.fields = ['X-Request-Id', '', 'ETag', etag, ...kind.fields, ...content];
    const canBeCoded = kind === COMMUNICATION_CODES && rest.length === 0;
    this.isNegotiated = canBeCoded && length >= NEGOTIATED_FROM;
  }

  static of(body: string | Buffer, kind?: AnswerKind): Answer {
    return new Answer([Buffer.from(body)], entityTag(hash('sha256', body, 'base64url')), kind);
  }

  static page(type: string, body: string | Buffer, policy = "default-src 'none'"): Answer {
    const caching = ['Cache-Control', 'no-cache', 'Content-Security-Policy', policy];
    const fields = [...caching, 'Referrer-Policy', 'no-referrer', ...NO_SNIFFING];
    return Answer.of(body, { type, fields });
  }

  representationFor(request: IncomingMessage): Answer {
    if (!this.isNegotiated) return this;
    for (const coding of new Negotiator(request).encodings([...CODINGS, 'identity'])) {
      if (coding === 'identity') break;
      const coded = this.coded.get(coding);
      if (coded) return coded;
      if (!Answer.isMaking) void this.make(coding);
    }
    return this;
  }

  /** The first tag of the content, in any coding, that If-None-Match names: weak comparison, lists and `*` (RFC 9110 section 13.1.2). */
  tagIn(ifNoneMatch: string | undefined): string | undefined {
    if (ifNoneMatch === undefined) return undefined;
    if (ifNoneMatch === '*' || ifNoneMatch === this.etag) return this.etag;
    const named = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
    const etags = this.isNegotiated ? CODINGS.map((coding) => this.etagOf(coding)) : [];
    return [this.etag, ...etags].find((etag) => named.includes(etag));
  }

  private etagOf(coding: string): string {
    return `${this.etag.slice(0, -1)}-${coding}"`;
  }

  private async make(coding: string): Promise<void> {
    Answer.isMaking = true;
    // Without memory for an encoder callers get identity
    const body = await ENCODERS.get(coding)?.(Buffer.concat(this.parts)).catch(() => undefined);
    Answer.isMaking = false;
    const fields = ['Content-Encoding', coding];
    if (body) this.coded.set(coding, new Answer([body], this.etagOf(coding), this.kind, fields));
  }
}

/** 128 bits of a digest as a strong entity tag. */
export const entityTag = (digest: string): string => `"${digest.slice(0, 22)}"`;
