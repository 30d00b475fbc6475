import { randomInt } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { HttpException } from '@nestjs/common';
import { type ProblemSlug, problemTypes } from './problem-types.js';

/** A fault in one field of the request. In openapi.yaml this object has the name Issue. */
export interface Issue {
  readonly description: string;
  readonly field: string;
  readonly location: 'body' | 'header' | 'path' | 'query';
  /** The value that was sent. Leave it out for headers and unknown parameters: their values may be credentials. */
  readonly value?: string;
}

export interface Circumstances {
  readonly detail: string;
  readonly issues?: readonly Issue[];
  /** Further header fields of the answer. A list gives one line for each value. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** The status, if it differs from the status of the type. `about:blank` has no status of its own, so it needs one. */
  readonly status?: number;
}

export interface ProblemResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: string;
}

interface TypeMembers {
  readonly status: number;
  readonly title: string;
  /** The path of the page that explains the type; undefined for `about:blank`. */
  readonly pagePath: string | undefined;
}

/** The reason why a request is not served. Throw it or pass it to `next`: ProblemFilter sends its document. */
export class Problem extends HttpException {
  private readonly members: TypeMembers;

  /** @param slug `about:blank` if no type of ours fits: then the status says everything (RFC 9457 section 4.2.1) */
  constructor(
    readonly slug: ProblemSlug | 'about:blank',
    readonly circumstances: Circumstances,
  ) {
    const members = describeType(slug, circumstances.status);
    super(circumstances.detail, members.status);
    this.members = members;
  }

  /**
   * Makes the response. Its body has the members of ProblemDetails of openapi.yaml, in the same order.
   * @param baseAddress the address in front of `/problems/`
   */
  render(requestId: string, baseAddress: string): ProblemResponse {
    const { status, title, pagePath } = this.members;
    const { detail, issues = [], headers } = this.circumstances;
    const body = JSON.stringify({
      type: pagePath === undefined ? 'about:blank' : `${baseAddress}${pagePath}`,
      title,
      status,
      detail,
      instance: `urn:uuid:${requestId}`,
      dateTime: new Date().toISOString(),
      issues: issues.length > 0 ? issues : undefined,
    });
    const defaultHeaders = {
      'Content-Type': 'application/problem+json',
      'Content-Length': String(Buffer.byteLength(body)),
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
    };
    return { status, headers: { ...defaultHeaders, ...headers }, body };
  }
}

function describeType(slug: ProblemSlug | 'about:blank', status: number | undefined): TypeMembers {
  if (slug === 'about:blank') {
    if (status === undefined) throw new Error('a problem of type about:blank needs a status');
    return { status, title: STATUS_CODES[status] ?? 'Error', pagePath: undefined };
  }
  const type = problemTypes[slug];
  return { status: status ?? type.status, title: type.title, pagePath: `/problems/${slug}` };
}

/** Returns a value for Retry-After. Adds 0 to 2 random seconds, so that callers do not all return together. */
export function formatRetryAfter(seconds: number): string {
  return String(seconds + randomInt(0, 3));
}

export function createNotReadyProblem(detail: string): Problem {
  return new Problem('not-ready', { detail, headers: { 'Retry-After': formatRetryAfter(2) } });
}
