import { type Html, html, htmlPage } from '../html/html.js';
import { type Cell, renderCell } from './cell.js';
import type { Fact, SourceRow } from './state.service.js';

interface State {
  readonly isReady: boolean;
  /** Sentences for people. */
  readonly warnings: readonly string[];
  readonly facts: readonly Fact[];
  readonly sources: readonly SourceRow[];
}

/** The state of a replica on one screen. Each text is escaped: names of clients and issuers come from elsewhere. */
export function statePage({ isReady, warnings, facts, sources }: State): string {
  const readiness: Cell = { text: isReady ? 'ready' : 'not ready', isWarning: !isReady };
  const body = html`<main>
    <h1>Order Lookup Services: ${renderCell(readiness)}</h1>
    ${warnings.map((text) => html`<p>${renderCell({ text, isWarning: true })}</p>`)}
    <table>
      <tr>
        <td></td>
        <th scope="col">State</th>
        <th scope="col">Content</th>
        <th scope="col">Last answer</th>
        <th scope="col">Until refusal</th>
      </tr>
      ${sources.map(renderSource)}
    </table>
    <table>
      ${facts.map(renderFact)}
    </table>
  </main>`;
  return htmlPage({ title: readiness.text, body });
}

function renderSource({ name, state, content, lastAnswer, untilRefusal }: SourceRow): Html {
  return html`<tr>
    <th scope="row">${name}</th>
    <td>${renderCell(state)}</td>
    <td>${renderCell(content)}</td>
    <td>${renderCell(lastAnswer)}</td>
    <td>${renderCell(untilRefusal)}</td>
  </tr>`;
}

function renderFact({ name, value }: Fact): Html {
  return html`<tr>
    <th scope="row">${name}</th>
    <td>${renderCell(value)}</td>
  </tr>`;
}
