const STYLE = `:root { color-scheme: light dark; background: Canvas; font: 15px/1.4 system-ui, sans-serif; }
body { max-width: 52rem; margin: auto; padding: 1rem; } h1 { font-size: 1.5rem; margin: 0; } p { margin: .5rem 0; }
table { width: 100%; border-collapse: collapse; table-layout: fixed; font-size: .9rem; } th { font-weight: normal; }
th, td { width: 15%; padding: .4rem .4rem .4rem 0; border-bottom: 1px solid #8888; text-align: left; vertical-align: top; overflow-wrap: break-word; }
tr :first-child { width: 30%; } tr :nth-child(2) { width: 40%; }
strong { color: #b00020; } @media (prefers-color-scheme: dark) { strong { color: #ff9a9a; } }`;

/** The state of a replica, for people. It has no script, and each text is escaped. What begins with ! is a warning. */
export function statePage(state: string, warnings: string[], rows: string[][]): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escape(state)} – Order Lookup Services</title>
<style>${STYLE}</style>
<main>
<h1>Order Lookup Services: ${markup(state)}</h1>
${warnings.map((warning) => `<p>${markup(`! ${warning}`)}</p>`).join('\n')}
<table>
<tr><td><th scope="col">State<th scope="col">Last answer<th scope="col">Until refusal
${rows.map(row).join('\n')}
</table>
</main>
</html>
`;
}

const row = ([name = '', state = '', last = '', left = '']: string[]): string =>
  `<tr><th scope="row">${escape(name)}<td>${[state, last, left].map(markup).join('<td>')}`;
const escape = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
const markup = (text: string): string =>
  text.startsWith('!') ? `<strong>${escape(text)}</strong>` : escape(text);

/** @param time in milliseconds since the epoch, or Infinity */
export const moment = (time: number): string =>
  time < Infinity ? new Date(time).toISOString().replace(/T(.*)\..*/, ' $1 UTC') : 'none';

const UNITS = { days: 86_400, h: 3_600, min: 60 };
export function duration(seconds: number): string {
  const [unit, size] = Object.entries(UNITS).find((one) => seconds >= 2 * one[1]) ?? ['s', 1];
  return seconds < Infinity ? `${Math.max(0, Math.round(seconds / size))} ${unit}` : 'never';
}
