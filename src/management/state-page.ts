const STYLE = `:root { color-scheme: light dark; font: 15px/1.4 system-ui, sans-serif; }
body { max-width: 52rem; margin: auto; padding: 1rem; } h1 { font-size: 1.5rem; margin: 0; } p { margin: .5rem 0; }
table { width: 100%; border-collapse: collapse; table-layout: fixed; font-size: .9rem; } th { font-weight: normal; }
th, td { width: 15%; padding: .4rem .4rem .4rem 0; border-bottom: 1px solid #8888; text-align: left; vertical-align: top; overflow-wrap: break-word; }
tr :first-child { width: 30%; } tr :nth-child(2) { width: 40%; }
strong { color: #b00020; } @media (prefers-color-scheme: dark) { strong { color: #ff9a9a; } }`;

/** The state of a replica, for people. It has no script, and each text is escaped. What begins with ! is a warning. */
export const statePage = (
  state: string,
  remarks: string[],
  rows: string[][],
): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="10">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escape(state)} – Order Lookup Services</title>
<style>${STYLE}</style>
<main>
<h1>Order Lookup Services: ${markup(state)}</h1>
${remarks.map((remark) => `<p>${markup(remark)}</p>`).join('\n')}
<table>
<tr><td><th scope="col">State<th scope="col">Last answer<th scope="col">Until refusal
${rows.map(([name = '', ...cells]) => `<tr><th scope="row">${escape(name)}${[0, 1, 2].map((at) => `<td>${markup(cells[at] ?? '')}`).join('')}`).join('\n')}
</table>
</main>
</html>
`;

const escape = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
const markup = (text: string): string =>
  text.startsWith('!') ? `<strong>${escape(text)}</strong>` : escape(text);

/** @param time in milliseconds since the epoch, or Infinity */
export const moment = (time: number): string =>
  time < Infinity ? new Date(time).toISOString().replace(/T(.*)\..*/, ' $1 UTC') : 'none';

export function lasting(seconds: number): string {
  const units = [
    [172_800, 86_400, 'days'],
    [7_200, 3_600, 'h'],
    [120, 60, 'min'],
  ] as const;
  const [, size, unit] = units.find(([least]) => seconds >= least) ?? [0, 1, 's'];
  return seconds < Infinity ? `${Math.round(seconds / size)} ${unit}` : 'none';
}
