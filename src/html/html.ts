/** Markup, which is written into a page without being escaped. */
export class Html {
  constructor(readonly markup: string) {}
}

/** A value in a template. The parts of a list follow one another without a separator. */
type Part = string | number | Html | readonly Html[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Makes HTML: html`<p>${text}</p>` escapes each text and each number, and inserts other Html as it is. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let markup = strings[0] ?? '';
  for (const [index, part] of parts.entries()) markup += markupOf(part) + (strings[index + 1] ?? '');
  return new Html(markup);
}

function markupOf(part: Part): string {
  if (part instanceof Html) return part.markup;
  if (typeof part === 'object') return part.map(({ markup }) => markup).join('');
  return String(part).replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

const STYLE = `
  html { color-scheme: light dark; background: Canvas; font: 16px/1.5 system-ui, sans-serif; }
  body { max-width: 44rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
  th, td { padding: 0.2rem 1rem 0.2rem 0; text-align: left; vertical-align: top; }
`;

/** The Content-Security-Policy of these pages, which allows their styles and nothing else. */
export const HTML_PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Makes a whole page, without a script. */
export function htmlPage({ title, body }: { readonly title: string; readonly body: Html }): string {
  const { markup } = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} – Order Lookup Services</title>
        <style>
          ${new Html(STYLE)}
        </style>
      </head>
      <body>
        ${body}
      </body>
    </html> `;
  return markup;
}
