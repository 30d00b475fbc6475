import { type Html, html, htmlPage } from '../html/html.js';
import type { Cell } from './cell.js';
import type { Fact, PartOfState } from './state.service.js';

interface State {
  readonly isReady: boolean;
  /** Sentences for people. */
  readonly warnings: readonly string[];
  readonly facts: readonly Fact[];
  readonly parts: readonly PartOfState[];
}

/** The state of a replica on one screen. Each text is escaped: names of clients and issuers come from elsewhere. */
export function statePage({ isReady, warnings, facts, parts }: State): string {
  const readiness: Cell = { text: isReady ? 'ready' : 'not ready', isWarning: !isReady };
  const body = html`<main>
    <h1>Order Lookup Services: ${markupOf(readiness)}</h1>
    ${warnings.map((text) => html`<p>${markupOf({ text, isWarning: true })}</p>`)}
    <table>
      <tr>
        <td></td>
        <th scope="col">State</th>
        <th scope="col">Content</th>
        <th scope="col">Last answer</th>
        <th scope="col">Until refusal</th>
      </tr>
      ${parts.map(rowOfPart)}
    </table>
    <table>
      ${facts.map(rowOfFact)}
    </table>
  </main>`;
  return htmlPage({ title: readiness.text, body });
}

function rowOfPart({ name, state, content, lastAnswer, untilRefusal }: PartOfState): Html {
  return html`<tr>
    <th scope="row">${name}</th>
    <td>${markupOf(state)}</td>
    <td>${markupOf(content)}</td>
    <td>${markupOf(lastAnswer)}</td>
    <td>${markupOf(untilRefusal)}</td>
  </tr>`;
}

const rowOfFact = ({ name, value }: Fact): Html =>
  html`<tr>
    <th scope="row">${name}</th>
    <td>${markupOf(value)}</td>
  </tr>`;

const markupOf = ({ text, isWarning = false }: Cell): Html =>
  isWarning ? html`<strong>${text}</strong>` : html`${text}`;
