import type { Circumstances, Issue, Problem } from './problem.js';
import { type ProblemSlug, problemTypes } from './problem-types.js';

/** RFC 9457 (obsoletes RFC 7807) with the two extensions of the interface document. */
export interface ProblemDetails {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly dateTime: string;
  readonly issues?: readonly Issue[];
}

/** A document without the parts that differ in each occurrence: the request id and the time. */
interface Wording {
  readonly status: number;
  readonly headers: readonly string[];
  readonly before: string;
  readonly after: string;
}

/** Index of the request id in the list of header fields. */
const REQUEST_ID_AT = 1;

/** Length of a request id, the name of the next member, and a time. */
const VARYING_BYTES = '7f0c5a0e-3f64-4c3b-9d5c-1f2e3d4c5b6a","dateTime":"2026-11-21T09:30:00.000Z"'
  .length;

/** Writes problems as documents and as whole answers. Does not depend on an HTTP server. */
export class ProblemRenderer {
  private readonly wordings = new WeakMap<Circumstances, Wording>();

  /** @param baseAddress the part before `/problems/<slug>`: the public base address and the base path, each possibly empty */
  constructor(readonly baseAddress: string) {}

  typeOf(slug: ProblemSlug): string {
    return `${this.baseAddress}/problems/${slug}`;
  }

  /** Status, header fields (a flat list) and body of the answer for a problem. */
  answer(problem: Problem, requestId: string): { status: number; headers: string[]; body: string } {
    const { status, headers, before, after } = this.wordingOf(problem);
    return {
      status,
      headers: headers.with(REQUEST_ID_AT, requestId),
      body: `${before}${requestId}","dateTime":"${new Date().toISOString()}"${after}`,
    };
  }

  private wordingOf({ slug, circumstances }: Problem): Wording {
    let wording = this.wordings.get(circumstances);
    if (!wording) {
      const { title } = problemTypes[slug];
      const {
        detail,
        issues = [],
        headers = [],
        status = problemTypes[slug].status,
      } = circumstances;
      const head = JSON.stringify({
        type: this.typeOf(slug),
        title,
        status,
        detail,
        instance: 'urn:uuid:',
      });
      const before = head.slice(0, -'"}'.length);
      const after = issues.length > 0 ? `,"issues":${JSON.stringify(issues)}}` : '}';
      wording = {
        status,
        headers: [
          'X-Request-Id',
          '',
          'Content-Type',
          'application/problem+json',
          'Content-Length',
          String(Buffer.byteLength(before + after) + VARYING_BYTES),
          'Cache-Control',
          'no-store',
          'X-Content-Type-Options',
          'nosniff',
          ...headers,
        ],
        before,
        after,
      };
      this.wordings.set(circumstances, wording);
    }
    return wording;
  }
}
