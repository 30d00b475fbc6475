import { hash } from 'node:crypto';
import type { ProblemDetails } from '../../problems/problem-details.js';
import type { ProblemType } from '../../problems/problem-types.js';

const STYLE = `
  :root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif; }
  main { max-width: 44rem; margin: 3rem auto; padding: 0 1.25rem; }
  h1 { line-height: 1.25; } .status { opacity: .7; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; padding: 1rem; border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: .5rem; font-size: .85rem; }
  li { margin: .35rem 0; }
`;

/** The Content-Security-Policy of the pages: only their own style, by its digest; no scripts. */
export const PROBLEM_PAGE_POLICY = `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** What happened, what to check, and an example. */
export const problemPage = (
  { status, title, meaning, remedy }: ProblemType,
  example: ProblemDetails,
): string =>
  page(
    title,
    `<p class="status">Status ${status}</p>
<h1>${escape(title)}</h1>
<p>${escape(meaning)}</p>
<h2>What to check</h2>
<ul>${remedy.map((step) => `<li>${escape(step)}</li>`).join('')}</ul>
<h2>Example</h2>
<pre>${escape(JSON.stringify(example, null, 2))}</pre>`,
  );

export const problemIndexPage = (
  types: readonly (ProblemType & { readonly type: string })[],
): string =>
  page(
    'Problem types',
    `<h1>Problem types</h1>
<p>Every error of this service is a problem document (RFC 9457). Its type is one of these.</p>
<ul>${types.map(({ type, status, title }) => `<li><a href="${escape(type)}">${escape(title)}</a> <span class="status">${status}</span></li>`).join('')}</ul>`,
  );

const page = (title: string, content: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)} – Order Lookup Services</title>
<style>${STYLE}</style>
</head>
<body><main>
${content}
</main></body>
</html>`;

const escape = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
