import { hash } from 'node:crypto';

/** What all answers of one kind have in common. */
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
   * A page that is open to everyone.
   * @param policy Content-Security-Policy, for what a browser shows
   * @param rest more header fields
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

/** Always asked again while we answer (RFC 9111), and for a day in place of our 5xx (RFC 5861). */
const LOOKUP = new AnswerKind('application/json', 'private, max-age=0, stale-if-error=86400');

/** A 200 answer as bytes that are ready to be sent: made once, shared by all callers, never changed. */
export class Answer {
  readonly length: number;
  readonly contentLength: string;

  /**
   * @param parts the body, in pieces that may be views of one large buffer
   * @param etag strong entity tag with its quotes (RFC 9110 section 8.8.3), made from the content alone
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
