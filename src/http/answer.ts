import { hash } from 'node:crypto';

/** A 200 answer as bytes that are ready to be sent: made when the codes are read, shared by all callers, never changed. */
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
  ) {
    this.length = parts.reduce((sum, part) => sum + part.length, 0);
    this.contentLength = String(this.length);
  }

  /** An answer from a whole body. */
  static of(body: Buffer): Answer {
    return new Answer([body], entityTag(hash('sha256', body, 'base64url')));
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
