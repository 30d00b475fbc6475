import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import type { Request, Response } from 'express';

/** Caches ask before each use (RFC 9111). If we answer with 5xx, they may use an answer for a day (RFC 5861). */
const CACHE_CONTROL = 'private, max-age=0, stale-if-error=86400';
/** The length of a tag, which then has 132 bits. If a tag is much shorter, two contents may get the same tag. */
const TAG_CHARACTERS = 22;
/** The largest body that is kept as a text. Node.js writes a text together with the header, and bytes separately. */
const MAX_TEXT_BYTES = 16 * 1024;

export interface AnswerOptions {
  readonly contentType?: string;
  /** Further header fields. A field of the same name replaces a default one. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A 200 whose body is complete before it is sent, with its strong entity tag (RFC 9110 section 8.8.3). Make an answer
 * once and return it to all callers, because making it hashes the body. ServerAdapter calls `sendTo`: an interceptor in
 * its place would double the cost of a request (docs/decisions.md).
 */
export class Answer {
  readonly etag: string;
  /** A text if the body is small and in UTF-8, otherwise bytes. */
  readonly body: Buffer | string;
  readonly length: number;
  private readonly contentType: string;
  private readonly headers: Map<string, string>;

  constructor(body: Buffer, { contentType = 'application/json', headers }: AnswerOptions = {}) {
    this.etag = `"${hash('sha256', body, 'base64url').slice(0, TAG_CHARACTERS)}"`;
    this.body = body.length <= MAX_TEXT_BYTES && isUtf8(body) ? body.toString() : body;
    this.length = body.length;
    this.contentType = contentType;
    this.headers = new Map(Object.entries({ 'Cache-Control': CACHE_CONTROL, ETag: this.etag, ...headers }));
  }

  sendTo(request: Request, response: Response): void {
    response.setHeaders(this.headers);
    if (this.isHeldByCaller(request)) {
      response.status(304).end();
      return;
    }
    response.setHeader('Content-Type', this.contentType);
    response.setHeader('Content-Length', this.length);
    response.end(this.body);
  }

  /** Returns whether the caller may get a 304. Only GET and HEAD may (RFC 9110 section 13.1.2). */
  private isHeldByCaller({ method, headers }: Request): boolean {
    const ifNoneMatch = headers['if-none-match'];
    if (ifNoneMatch === undefined) return false;
    const isRead = method === 'GET' || method === 'HEAD';
    return isRead && isNamedBy(ifNoneMatch, this.etag);
  }
}

/**
 * Returns whether If-None-Match names an answer. The value `*` names every answer. Otherwise tags are compared weakly
 * (RFC 9110 section 13.1.2). Express's `request.fresh` is not used, because it also obeys the request's Cache-Control.
 * @param etag a strong entity tag without a comma, with its quotes
 */
export function isNamedBy(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true;
  // A tag of another server may contain a comma, at which it is cut. Its pieces lack a quote, so none equals our tag
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim());
  return tags.includes(etag) || tags.includes(`W/${etag}`);
}
