import { type Result, medianRatio } from './report.js';

const WIDTH = 760;
const LABEL_WIDTH = 260;
/** The space after the longest bar for its ratio. */
const RATIO_WIDTH = 60;
const BAR_HEIGHT = 16;
const ROW_HEIGHT = 24;
const TOP = 40;
const COLOURS = ['#9a9a9a', '#5a5a5a', '#b07aa1', '#4e79a7', '#f28e2b'];
const AIM_COLOUR = '#c00000';

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Returns an SVG with a bar for each result, a line at the hello world's cost, and a mark at each aim. */
export function drawPicture(results: readonly Result[]): string {
  const highestRatio = Math.max(...results.map(medianRatio));
  const pixels = (ratio: number): number => Math.round((ratio / highestRatio) * (WIDTH - LABEL_WIDTH - RATIO_WIDTH));
  const serverNames = [...new Set(results.map(({ scenario }) => scenario.serverName))];
  const height = TOP + results.length * ROW_HEIGHT + 10;
  const helloX = LABEL_WIDTH + pixels(1);
  const bars = results.map((result, index) => {
    const colour = COLOURS[serverNames.indexOf(result.scenario.serverName) % COLOURS.length];
    return drawBar({ result, y: TOP + index * ROW_HEIGHT, colour, pixels });
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}"
  font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#fff"/>
<text x="10" y="20" font-size="14">CPU time of a request; Nest hello world = 1; red: the aim</text>
<line x1="${helloX}" x2="${helloX}" y1="${TOP - 6}" y2="${height - 10}" stroke="#000"/>
${bars.join('\n')}
</svg>
`;
}

interface Bar {
  readonly result: Result;
  readonly y: number;
  readonly colour: string | undefined;
  readonly pixels: (ratio: number) => number;
}

function drawBar({ result, y, colour, pixels }: Bar): string {
  const { name, serverName, aim } = result.scenario;
  const ratio = medianRatio(result);
  const length = pixels(ratio);
  const baseline = y + BAR_HEIGHT - 4;
  const lines = [
    `<text x="10" y="${baseline}">${escape(`${serverName}: ${name}`)}</text>`,
    `<rect x="${LABEL_WIDTH}" y="${y}" width="${length}" height="${BAR_HEIGHT}" fill="${colour}"/>`,
    `<text x="${LABEL_WIDTH + length + 6}" y="${baseline}">${ratio.toFixed(2)}</text>`,
  ];
  if (aim !== undefined) {
    const x = LABEL_WIDTH + pixels(aim) - 1;
    const size = `width="3" height="${BAR_HEIGHT + 4}"`;
    lines.push(`<rect x="${x}" y="${y - 2}" ${size} fill="${AIM_COLOUR}"/>`);
  }
  return lines.join('\n');
}
