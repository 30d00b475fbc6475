import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import type { Request, Response } from 'express';

/** A cache asks us before each use (RFC 9111). If we answer 5xx, it may use its copy for a day (RFC 5861). */
const CACHE_CONTROL = 'private, max-age=0, stale-if-error=86400';
/** The length of a tag: 132 bits. If tags were much shorter, two contents could get the same tag. */
const TAG_CHARACTERS = 22;
/**
 * A body up to this size is a string, which Node.js sends with the header, but copies for each response. A larger body
 * is a Buffer, which all responses share. If you lower this, lower LARGE_ANSWER_BYTES of codes-snapshot.ts, too.
 */
const MAX_TEXT_BYTES = 16 * 1024;

export interface AnswerOptions {
  readonly contentType?: string;
  /** Further header fields. A field of the same name replaces a default one. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A 200 whose whole body is in memory, with a strong entity tag (RFC 9110 section 8.8.3). The constructor hashes the
 * body, so make an answer once and return it to all callers.
 */
export class Answer {
  readonly etag: string;
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

  /**
   * ServerAdapter calls this method. An interceptor in its place would double the cost of a request. See
   * docs/decisions.md, An `Answer` sends itself.
   */
  sendTo(request: Request, response: Response): void {
    response.setHeaders(this.headers);
    if (this.isKnownToCaller(request)) {
      response.status(304).end();
      return;
    }
    response.setHeader('Content-Type', this.contentType);
    response.setHeader('Content-Length', this.length);
    response.end(this.body);
  }

  /** Returns whether the answer is a 304, which only GET and HEAD may get (RFC 9110 section 13.1.2). */
  private isKnownToCaller({ method, headers }: Request): boolean {
    const ifNoneMatch = headers['if-none-match']; // not `request.fresh`, which also obeys the request's Cache-Control
    if (ifNoneMatch === undefined) return false;
    const isRead = method === 'GET' || method === 'HEAD';
    return isRead && namesTag(ifNoneMatch, this.etag);
  }
}

/**
 * Returns whether If-None-Match is `*`, or lists the tag, with or without `W/` (RFC 9110 section 13.1.2).
 * @param etag a strong entity tag without a comma, with its quotes
 */
export function namesTag(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true;
  // A foreign tag such as "a,b" is cut at its comma. Each piece lacks a quote, so neither equals our tag
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim());
  return tags.includes(etag) || tags.includes(`W/${etag}`);
}
