import { html, htmlPage } from '../../html/html.js';
import { type ProblemSlug, problemTypes } from '../../problems/problem-types.js';

export function problemPage(slug: ProblemSlug, baseAddress: string): string {
  const { status, title, meaning, remedy } = problemTypes[slug];
  const body = html`<main>
    <h1>${title}</h1>
    <p>Problem type <code>${slug}</code>, status ${status}</p>
    <h2>What happened</h2>
    <p>${meaning}</p>
    <h2>How to mend it</h2>
    <ul>
      ${remedy.map((step) => html`<li>${step}</li>`)}
    </ul>
    <p><a href="${baseAddress}/problems">All problem types</a></p>
  </main>`;
  return htmlPage({ title, body });
}

export function indexPage(baseAddress: string): string {
  const slugs = Object.keys(problemTypes) as ProblemSlug[];
  const links = slugs.map((slug) => {
    const { status, title } = problemTypes[slug];
    return html`<li><a href="${baseAddress}/problems/${slug}">${slug}</a> (${status}): ${title}</li>`;
  });
  const body = html`<main>
    <h1>Problem types</h1>
    <p>Errors are problem documents (RFC 9457). Those of this service have one of these types:</p>
    <ul>
      ${links}
    </ul>
  </main>`;
  return htmlPage({ title: 'Problem types', body });
}

export function notFoundPage(baseAddress: string): string {
  const body = html`<main>
    <h1>Not found</h1>
    <p>There is no such problem type.</p>
    <p><a href="${baseAddress}/problems">All problem types</a></p>
  </main>`;
  return htmlPage({ title: 'Not found', body });
}
