import type { Request, Response } from 'express';
import { isNamedBy } from './entity-tags.js';
import { Representations } from './representations.js';

/** Caches ask before each use (RFC 9111), and may use the answer for a day instead of our 5xx (RFC 5861). */
const CACHE_CONTROL = 'private, max-age=0, stale-if-error=86400';

export interface AnswerOptions {
  readonly contentType?: string;
  /** Whether the body is also offered in gzip and br, if it is large enough. */
  readonly isCompressible?: boolean;
  /** Further header fields. A field of the same name replaces a default one. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A 200 whose body is complete before it is sent, with its entity tag. Make it once and return it to all callers, since
 * to make it hashes the body. A controller returns the answer, and the HTTP adapter has the answer send itself: an
 * interceptor would double the cost of a request (docs/decisions.md).
 */
export class Answer {
  private readonly representations: Representations;
  private readonly contentType: string;
  private readonly headers: Map<string, string>;

  constructor(body: Buffer, options: AnswerOptions = {}) {
    const { contentType = 'application/json', isCompressible = false, headers } = options;
    this.representations = new Representations(body, { isCompressible });
    this.contentType = contentType;
    this.headers = new Map(Object.entries({ 'Cache-Control': CACHE_CONTROL, ...headers }));
  }

  /** The entity tag of the uncompressed body. */
  get etag(): string {
    return this.representations.identity.etag;
  }

  /** The uncompressed body. It is a text if it is small and UTF-8, which Node.js sends in one piece with the header. */
  get body(): Buffer | string {
    return this.representations.identity.content;
  }

  /** Begins to compress the body in the background. Otherwise the first request does, and gets the body as it is. */
  compress(): void {
    this.representations.compressMissing();
  }

  /** Sends the body, or a 304 to a caller that has the body already. */
  sendTo(request: Request, response: Response): void {
    const { coding, content, length, etag } = this.representations.preferredBy(request);
    response.setHeaders(this.headers);
    response.setHeader('ETag', etag);
    if (this.representations.isCompressible) response.vary('Accept-Encoding');
    if (isHeldByCaller(request, etag)) {
      response.status(304).end();
      return;
    }
    response.setHeader('Content-Type', this.contentType);
    response.setHeader('Content-Length', length);
    if (coding !== undefined) response.setHeader('Content-Encoding', coding);
    response.end(content);
  }
}

/** Whether the caller has the representation with this entity tag. Only GET and HEAD get a 304 (RFC 9110 section 13.1.2). */
function isHeldByCaller({ method, headers }: Request, etag: string): boolean {
  const ifNoneMatch = headers['if-none-match'];
  if (ifNoneMatch === undefined) return false;
  const isRead = method === 'GET' || method === 'HEAD';
  return isRead && isNamedBy(ifNoneMatch, etag);
}
