import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Issue, Problem } from './problem.js';
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

/** Writes problems as documents and whole answers. Knows nothing of Express, so that parser errors are answered with it too. */
export class ProblemRenderer {
  /** @param baseAddress what stands before `/problems/<slug>`: the public base address and the base path, both possibly empty */
  constructor(readonly baseAddress: string) {}

  typeOf(slug: ProblemSlug): string {
    return `${this.baseAddress}/problems/${slug}`;
  }

  document({ slug, circumstances }: Problem, requestId: string): ProblemDetails {
    const { title } = problemTypes[slug];
    const { detail, issues, status = problemTypes[slug].status } = circumstances;
    return {
      type: this.typeOf(slug),
      title,
      status,
      detail,
      instance: `urn:uuid:${requestId}`,
      dateTime: new Date().toISOString(),
      ...(issues && issues.length > 0 ? { issues } : {}),
    };
  }

  /** Status, flat list of header fields, and body of the answer to a problem. */
  answer(problem: Problem, requestId: string): { status: number; headers: string[]; body: string } {
    const document = this.document(problem, requestId);
    const body = JSON.stringify(document);
    const { headers = [], close } = problem.circumstances;
    return {
      status: document.status,
      headers: [
        'Content-Type',
        'application/problem+json',
        'Content-Length',
        String(Buffer.byteLength(body)),
        'Cache-Control',
        'no-store',
        'X-Content-Type-Options',
        'nosniff',
        'X-Request-Id',
        requestId,
        ...headers,
        ...(close ? ['Connection', 'close'] : []),
      ],
      body,
    };
  }

  /** The bytes of an HTTP/1.1 answer to what never became a request. The connection closes after it. */
  bytes(problem: Problem): Buffer {
    const { status, headers, body } = this.answer(problem, randomUUID());
    const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, `Date: ${new Date().toUTCString()}`];
    for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
    if (!problem.circumstances.close) lines.push('Connection: close');
    return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
  }
}
