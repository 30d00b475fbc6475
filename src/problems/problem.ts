import { randomInt } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { HttpException } from '@nestjs/common';
import { type ProblemSlug, problemTypes } from './problem-types.js';

/** A fault in one field of the request (Issue object of the interface document). */
export interface Issue {
  readonly description: string;
  /** The name of a header or parameter; `""` for the whole body or the whole query. */
  readonly field: string;
  readonly location: 'body' | 'header' | 'path' | 'query';
  /** What was sent. Never of a header or an unknown parameter, which may be a credential. */
  readonly value?: string;
}

export interface Circumstances {
  readonly detail: string;
  readonly issues?: readonly Issue[];
  /** Further header fields of the answer. A list of values is sent in a line each. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** If it differs from the status of the type. */
  readonly status?: number;
}

/** Thrown if a request cannot be served. ProblemFilter answers it with a problem document (RFC 9457). */
export class Problem extends HttpException {
  /** @param slug `about:blank` where no type of ours fits: the status says it all (RFC 9457 section 4.2.1) */
  constructor(
    readonly slug: ProblemSlug | 'about:blank',
    readonly circumstances: Circumstances,
  ) {
    const usualStatus = slug === 'about:blank' ? 500 : problemTypes[slug].status;
    super(circumstances.detail, circumstances.status ?? usualStatus);
  }

  /**
   * The answer: the members of the interface document, in their order.
   * @param baseAddress of the pages that explain the types
   */
  render(requestId: string, baseAddress: string) {
    const status = this.getStatus();
    const { detail, issues = [], headers } = this.circumstances;
    const body = JSON.stringify({
      ...this.typeAndTitle(baseAddress),
      status,
      detail,
      instance: `urn:uuid:${requestId}`,
      dateTime: new Date().toISOString(),
      issues: issues.length > 0 ? issues : undefined,
    });
    const usualHeaders = {
      'Content-Type': 'application/problem+json',
      'Content-Length': String(Buffer.byteLength(body)),
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
    };
    return { status, headers: { ...usualHeaders, ...headers }, body };
  }

  private typeAndTitle(baseAddress: string) {
    if (this.slug === 'about:blank')
      return { type: this.slug, title: STATUS_CODES[this.getStatus()] };
    const { title } = problemTypes[this.slug];
    return { type: `${baseAddress}/problems/${this.slug}`, title };
  }
}

export const malformed = (detail: string, issues?: readonly Issue[]): Problem =>
  new Problem('malformed-request', { detail, issues });

/** A Retry-After field. Up to two seconds are added by chance, so that callers do not all return at once. */
export function retryAfter(seconds: number): { 'Retry-After': string } {
  return { 'Retry-After': String(seconds + randomInt(0, 3)) };
}
