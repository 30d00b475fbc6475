import { hash } from 'node:crypto';

/** What all answers of one kind share. */
export class AnswerKind {
  /** Header fields of 200 and of 304, as a flat list of names and values. */
  readonly fields: readonly string[];

  constructor(
    readonly type: string,
    cacheControl: string,
    rest: readonly string[] = [],
  ) {
    this.fields = ['Cache-Control', cacheControl, 'X-Content-Type-Options', 'nosniff', ...rest];
  }

  /**
   * A public page.
   * @param policy Content-Security-Policy, for HTML
   * @param rest further header fields
   */
  static page(
    type: string,
    policy = "default-src 'none'",
    rest: readonly string[] = [],
  ): AnswerKind {
    return new AnswerKind(type, 'no-cache', [
      'Content-Security-Policy',
      policy,
      'Referrer-Policy',
      'no-referrer',
      ...rest,
    ]);
  }
}

/** Caches ask before each use (RFC 9111), and may use the answer for a day instead of our 5xx (RFC 5861). */
const LOOKUP = new AnswerKind('application/json', 'private, max-age=0, stale-if-error=86400');

/** A 200 answer as bytes that are ready to be sent. It is created once, shared by all callers, and never changed. */
export class Answer {
  readonly length: number;
  readonly contentLength: string;

  /**
   * @param parts the body, in parts that may be views of one large buffer
   * @param etag strong entity tag with its quotes (RFC 9110 section 8.8.3), computed from the content only
   */
  constructor(
    readonly parts: readonly Buffer[],
    readonly etag: string,
    readonly kind = LOOKUP,
  ) {
    this.length = parts.reduce((sum, part) => sum + part.length, 0);
    this.contentLength = String(this.length);
  }

  /** An answer from a whole body. */
  static of(body: Buffer, kind = LOOKUP): Answer {
    return new Answer([body], entityTag(hash('sha256', body, 'base64url')), kind);
  }
}

/** 128 bits of a digest as a strong entity tag. */
export const entityTag = (digest: string): string => `"${digest.slice(0, 22)}"`;

/** Whether If-None-Match names the entity tag: weak comparison, lists and `*` (RFC 9110 section 13.1.2). */
export function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch === etag || ifNoneMatch === '*') return true;
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
