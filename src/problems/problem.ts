import type { ProblemSlug } from './problem-types.js';

/** A fault in one field of the request (interface document, Issue object). `field` is `""` for the whole body (RFC 6901). */
export interface Issue {
  readonly description: string;
  readonly field: string;
  readonly location: 'body' | 'header' | 'path' | 'query';
  readonly value?: string;
}

/** What is the same in every occurrence may be one object, of one slug: it is then put into words once. */
export interface Circumstances {
  /** What happened in this occurrence, for the caller to read. */
  readonly detail: string;
  readonly issues?: readonly Issue[];
  /** Header fields that go with the answer, as a flat list of names and values; a name may come twice. */
  readonly headers?: readonly string[];
  /** Where it is not the status of the type: 417 is a malformed request, too. */
  readonly status?: number;
}

/** Thrown where a request cannot be served; the filter answers it with a problem document. */
export class Problem extends Error {
  constructor(
    readonly slug: ProblemSlug,
    readonly circumstances: Circumstances,
  ) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0; // a fault of the caller needs no stack, and taking one costs as much as answering
    super(circumstances.detail);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'Problem';
  }
}
