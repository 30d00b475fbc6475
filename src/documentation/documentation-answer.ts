import { Answer } from '../http/answer.js';

export const HTML = 'text/html; charset=utf-8';

/** Allows nothing: for a document that is no page, and for a browser that takes it for one. */
const NOTHING_ALLOWED = "default-src 'none'; frame-ancestors 'none'";

export interface DocumentationOptions {
  readonly contentType: string;
  readonly body: Buffer | string;
  /** The Content-Security-Policy. By default nothing is allowed. */
  readonly policy?: string;
  /** Whether gzip and br are offered, if the body is large. */
  readonly isCompressible?: boolean;
}

/** The answer with a part of the documentation: a page, or a script, a style or a picture of one. */
export function documentationAnswer(options: DocumentationOptions): Answer {
  const { contentType, body, policy = NOTHING_ALLOWED, isCompressible } = options;
  const headers = {
    'Cache-Control': 'no-cache',
    'Content-Security-Policy': policy,
    'Referrer-Policy': 'no-referrer',
  };
  return new Answer(Buffer.from(body), { contentType, headers, isCompressible });
}
