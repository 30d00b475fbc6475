import { Answer } from '../http/answer.js';

export const HTML = 'text/html; charset=utf-8';

/** For JSON, scripts, styles and pictures: nothing runs or loads, even if a browser shows one as a page. */
const DENY_ALL_POLICY = "default-src 'none'; frame-ancestors 'none'";

export interface DocumentationOptions {
  readonly contentType: string;
  readonly body: Buffer | string;
  /** The Content-Security-Policy. By default nothing is allowed. */
  readonly policy?: string;
}

/** The answer with a part of the documentation: a page, or a script, a style or a picture of one. */
export function documentationAnswer(options: DocumentationOptions): Answer {
  const { contentType, body, policy = DENY_ALL_POLICY } = options;
  const headers = {
    'Cache-Control': 'no-cache', // asked for again each time, since the addresses hold no version
    'Content-Security-Policy': policy,
    'Referrer-Policy': 'no-referrer',
  };
  return new Answer(Buffer.from(body), { contentType, headers });
}
