import { expect, it } from '@jest/globals';
import { html, htmlPage } from './html.js';

it('a text is escaped wherever it stands, and markup of the function itself is not', () => {
  const text = `<b a="1" c='2'>&amp;</b>`;
  const escaped = '&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;&lt;/b&gt;';
  const items = [html`<li>${text}</li>`, html`<li>${1}</li>`];
  const { markup } = html`<ul title="${text}">
    ${items}
  </ul>`;
  expect(markup.replaceAll(/\s*\n\s*/g, '')).toBe(`<ul title="${escaped}"><li>${escaped}</li><li>1</li></ul>`);
});

it('a page has its title escaped, and its body as it is', () => {
  const page = htmlPage({ title: 'a < b', body: html`<main>${'c > d'}</main>` });
  expect(page).toContain('<title>a &lt; b – Order Lookup Services</title>');
  expect(page).toContain('<main>c &gt; d</main>');
});
