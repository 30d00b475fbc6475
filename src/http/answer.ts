import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

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

/** The lists. Caches ask before each use (RFC 9111), and may use the answer for a day instead of our 5xx (RFC 5861). */
export const lookup = (rest?: readonly string[]): AnswerKind =>
  new AnswerKind('application/json', 'private, max-age=0, stale-if-error=86400', rest);

const LOOKUP = lookup();

/** A 200 answer as bytes that are ready to be sent. It is created once, shared by all callers, and never changed. */
export class Answer {
  /** Header fields of 200 only, as a flat list of names and values. */
  readonly content: readonly string[];

  /**
   * @param parts the body, in parts that may be views of one large buffer
   * @param etag strong entity tag with its quotes (RFC 9110 section 8.8.3), computed from the content only
   * @param rest further header fields of 200
   */
  constructor(
    readonly parts: readonly Buffer[],
    readonly etag: string,
    readonly kind = LOOKUP,
    rest: readonly string[] = [],
  ) {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    this.content = ['Content-Type', kind.type, 'Content-Length', String(length), ...rest];
  }

  /** An answer from a whole body. */
  static of(body: Buffer, kind = LOOKUP): Answer {
    return new Answer([body], entityTag(hash('sha256', body, 'base64url')), kind);
  }

  /** The entity tags of all representations of the content. */
  get etags(): readonly string[] {
    return [this.etag];
  }

  /** The representation that is sent to a request. */
  representationFor(_request: IncomingMessage): Answer {
    return this;
  }

  /** The first tag of the content that If-None-Match names: weak comparison, lists and `*` (RFC 9110 section 13.1.2). */
  tagIn(ifNoneMatch: string | undefined): string | undefined {
    if (ifNoneMatch === undefined) return undefined;
    if (ifNoneMatch === '*') return this.etag;
    const named = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
    return this.etags.find((etag) => named.includes(etag));
  }
}

/** 128 bits of a digest as a strong entity tag. */
export const entityTag = (digest: string): string => `"${digest.slice(0, 22)}"`;
