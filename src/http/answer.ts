import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Request, Response } from 'express';

/** In bytes. Smaller bodies gain nothing by a content coding (RFC 9110 section 8.4). */
export const CODED_FROM_BYTES = 16 * 1024;
/** Of base64url: 132 bits, so that two contents never have the same tag. */
const TAG_CHARACTERS = 22;
/** From quality 7 on brotli takes more than twice the time of gzip. */
const BROTLI_OPTIONS = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } };
/** Caches ask before each use (RFC 9111), and may use the answer for a day instead of our 5xx (RFC 5861). */
const CACHE_CONTROL = 'private, max-age=0, stale-if-error=86400';

export interface AnswerOptions {
  readonly contentType?: string;
  /** Whether the body is also offered as gzip and br, if it is large enough. */
  readonly isCoded?: boolean;
  /** Further header fields, also instead of the usual ones. */
  readonly headers?: Readonly<Record<string, string>>;
}

interface Representation {
  /** Undefined for the body as it is. */
  readonly coding?: string;
  /** A text is written together with the header, which bytes are not. */
  readonly content: Buffer | string;
  readonly length: number;
  readonly etag: string;
}

/**
 * The body of a 200 with its entity tag. It is made once and sent to all callers. A controller returns it, and the
 * HTTP adapter lets it send itself.
 */
export class Answer {
  /** One answer is compressed at a time, since access tokens are verified in the same threads. */
  private static isCompressing = false;

  private readonly tag: string;
  private readonly contentType: string;
  private readonly headers: Map<string, string>;
  private readonly isCoded: boolean;
  private readonly identity: Representation;
  private readonly coded = new Map<string, Representation>();

  constructor(body: Buffer, options: AnswerOptions = {}) {
    this.tag = hash('sha256', body, 'base64url').slice(0, TAG_CHARACTERS);
    this.contentType = options.contentType ?? 'application/json';
    this.headers = new Map(Object.entries({ 'Cache-Control': CACHE_CONTROL, ...options.headers }));
    this.isCoded = options.isCoded ?? false;
    const isSmallText = body.length < CODED_FROM_BYTES && isUtf8(body);
    this.identity = {
      content: isSmallText ? body.toString() : body,
      length: body.length,
      etag: `"${this.tag}"`,
    };
    this.makeCodings();
  }

  /** A page of the documentation, or a file of one, under a Content-Security-Policy. */
  static page(contentType: string, body: Buffer | string, policy = "default-src 'none'"): Answer {
    const headers = {
      'Cache-Control': 'no-cache',
      'Content-Security-Policy': policy,
      'Referrer-Policy': 'no-referrer',
    };
    return new Answer(Buffer.from(body), { contentType, headers });
  }

  /** Of the body as it is. */
  get etag(): string {
    return this.identity.etag;
  }

  get body(): Buffer | string {
    return this.identity.content;
  }

  /**
   * Sends it, or 304 where the caller has it already.
   * @throws Problem 429 instead of a 200 where the rate limit of the caller is used up
   */
  sendTo(response: Response): void {
    const { req: request } = response;
    const { coding, content, length, etag } = this.representationFor(request);
    const isNotModified = isKnown(etag, request.headers['if-none-match']);
    const { rateLimitProblem } = request.context;
    if (rateLimitProblem && !isNotModified) throw rateLimitProblem;
    response.setHeaders(this.headers);
    response.setHeader('ETag', etag);
    if (this.isCoded) response.vary('Accept-Encoding');
    if (isNotModified) {
      // It costs nothing, so it says nothing of the limit
      response.removeHeader('RateLimit');
      response.removeHeader('RateLimit-Policy');
      response.status(304).end();
      return;
    }
    response.setHeader('Content-Type', this.contentType);
    response.setHeader('Content-Length', length);
    if (coding !== undefined) response.setHeader('Content-Encoding', coding);
    response.end(content);
  }

  /** Express gives the coding that the caller prefers, or false where it accepts none of them. */
  private representationFor(request: Request): Representation {
    if (this.coded.size === 0) {
      this.makeCodings();
      return this.identity;
    }
    const coding = request.acceptsEncodings('gzip', 'br', 'identity');
    if (coding === false) return this.identity;
    return this.coded.get(coding) ?? this.identity;
  }

  /**
   * Makes the codings in the background. Until they are there, callers get the body as it is. While another answer is
   * being compressed nothing waits in a queue, which would keep answers that nobody needs any more: a later request
   * begins again.
   */
  private makeCodings(): void {
    const isLarge = this.identity.length >= CODED_FROM_BYTES;
    if (!this.isCoded || !isLarge || Answer.isCompressing) return;
    void this.compress(this.identity.content);
  }

  private async compress(content: Buffer | string): Promise<void> {
    Answer.isCompressing = true;
    try {
      this.addCoding('gzip', await promisify(gzip)(content));
      this.addCoding('br', await promisify(brotliCompress)(content, BROTLI_OPTIONS));
    } catch {
      // Without memory for a coding callers get the body as it is
    } finally {
      Answer.isCompressing = false;
    }
  }

  private addCoding(coding: string, content: Buffer): void {
    const etag = `"${this.tag}-${coding}"`;
    this.coded.set(coding, { coding, content, length: content.length, etag });
  }
}

/** Weak comparison, lists and `*` (RFC 9110 section 13.1.2). Express's `fresh` heeds Cache-Control of the request. */
function isKnown(etag: string, ifNoneMatch: string | undefined): boolean {
  if (ifNoneMatch === undefined) return false;
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim());
  return tags.includes(etag) || tags.includes(`W/${etag}`) || tags.includes('*');
}
