import type { ProblemSlug } from './problem-types.js';

/** A fault in one field of the request (Issue object of the interface document). `field` is `""` for the whole body (RFC 6901). */
export interface Issue {
  readonly description: string;
  readonly field: string;
  readonly location: 'body' | 'header' | 'path' | 'query';
  readonly value?: string;
}

export interface Circumstances {
  readonly detail: string;
  readonly issues?: readonly Issue[];
  /** Header fields of the answer, as a flat list of names and values. A name may occur twice. */
  readonly headers?: readonly string[];
  /** If it differs from the status of the type: 417 is a malformed-request, too. */
  readonly status?: number;
  /** HTML instead of the document, for a person who follows a link that leads nowhere. */
  readonly page?: string | undefined;
}

/** Thrown if a request cannot be served, and answered by the exception filter. No Error: a fault of the caller needs no stack, which costs 10 % of its answer. */
export class Problem {
  /** @param slug about:blank where no type of ours fits: the status says it all (RFC 9457 section 4.2.1) */
  constructor(
    readonly slug: ProblemSlug | 'about:blank',
    readonly circumstances: Circumstances,
  ) {}
}

export const malformed = (detail: string): Problem => new Problem('malformed-request', { detail });

/** A Retry-After field of `seconds` plus a random part of up to 50 %, so that callers do not all return at the same time. */
export const retryAfter = (seconds: number): string[] => [
  'Retry-After',
  String(Math.ceil(seconds * (1 + Math.random() / 2))),
];
