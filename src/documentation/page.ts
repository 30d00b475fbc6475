import { Answer } from '../http/answer.js';

export const HTML = 'text/html; charset=utf-8';

/** The Content-Security-Policy of answers that are no pages. With this policy, a browser runs and loads nothing. */
const DENY_ALL_POLICY = "default-src 'none'; frame-ancestors 'none'";
/** The Content-Security-Policy of plain pages. It allows only the styles inside of them. */
const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export interface DocumentationOptions {
  readonly contentType: string;
  readonly body: Buffer | string;
  /** The Content-Security-Policy; DENY_ALL_POLICY if it is left out. */
  readonly policy?: string;
}

export function createDocumentationAnswer({
  contentType,
  body,
  policy = DENY_ALL_POLICY,
}: DocumentationOptions): Answer {
  const headers = {
    'Cache-Control': 'no-cache', // caches ask each time, because a new version has the same addresses
    'Content-Security-Policy': policy,
    'Referrer-Policy': 'no-referrer',
  };
  return new Answer(Buffer.from(body), { contentType, headers });
}

/** DANGER: `title` and `content` become HTML, and nothing is escaped. So never pass a caller's text. */
export function createPlainPage(title: string, content: string): Answer {
  const body = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${title}</title>
    <style>
      html { color-scheme: light dark; background: Canvas; font: 16px/1.5 system-ui, sans-serif; }
      body { max-width: 44rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
    </style>
  </head>
  <body>
    <main>
      <h1>${title}</h1>
      ${content}
    </main>
  </body>
</html>
`;
  return createDocumentationAnswer({ contentType: HTML, body, policy: PAGE_POLICY });
}
