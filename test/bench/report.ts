import type { Ratios } from './compare.js';
import type { Measurement } from './load.js';
import type { OverloadMeasurement } from './overload.js';
import { type Spread, inWords, ratios, spreadOf } from './spread.js';

export interface Findings {
  readonly results: ReadonlyMap<string, readonly Measurement[]>;
  /** Milliseconds, while codes were reloaded. */
  readonly longestTurn: number;
  /** Milliseconds, while a tenth of the codes began. */
  readonly momentTurn: number;
  readonly overload: readonly OverloadMeasurement[];
  readonly many: number;
  readonly bytesForCode: number;
  readonly peaks: readonly (readonly [name: string, mebibytes: number])[];
  readonly machine: string;
}

/**
 * Scenarios to compare: none uses up a core, so that it is the service that is measured, not the rest of the machine. PostgreSQL shares the cores,
 * and so what the same changes do to callers is measured without a reload, too.
 */
export const STEADY = 'ours: filtered, 100,000 codes, 2,000 a second';
export const WRITING = `${STEADY}, codes of another database changing each second`;
export const RELOADING = `${STEADY}, reloading each second`;
/** What is added to the names of scenarios whose client sleeps between its requests. */
export const SLEEPS = ', client sleeps';

const BASE = 'node:http, no credentials';
const UPDATE = 'ours: 200 order update';
/** The same request, each on a server that answers nothing else. */
export const NONE_AHEAD = `${UPDATE}, no moment ahead`;
export const AHEAD = `${UPDATE}, 1,000 moments ahead`;

/** The name of a scenario with filters: one that is asked again, or each another one. */
export const filterScenario = (count: number, filter: 'again' | 'new' = 'again'): string =>
  `ours: ${filter === 'again' ? 'the same filter' : 'every filter new'}, ${count.toLocaleString('en')} codes`;

type Results = Findings['results'];

const series = (results: Results, name: string, figure: keyof Measurement): number[] =>
  (results.get(name) ?? []).map((measurement) => measurement[figure]);

const ratio = (
  results: Results,
  of: string,
  to: string,
  figure: keyof Measurement = 'cpu',
): Spread => spreadOf(ratios(series(results, of, figure), series(results, to, figure)));

interface Aim {
  readonly name: string;
  readonly spread: Spread;
  readonly aim: string;
}

function aims({ results, many }: Findings): Aim[] {
  const toBase = (name: string, scenario: string, aim: number): Aim[] =>
    [
      ['', BASE],
      [SLEEPS, BASE + SLEEPS],
    ]
      .filter(([suffix]) => results.has(scenario + suffix))
      .map(([suffix = '', base = BASE]) => ({
        name: `${name}, to node:http without any${suffix}`,
        spread: ratio(results, scenario + suffix, base),
        aim: `${aim} at most`,
      }));
  const growth = (filter: 'again' | 'new'): Spread =>
    ratio(results, filterScenario(many, filter), filterScenario(100, filter));
  const sizes = `${many.toLocaleString('en')} codes to 100 codes`;
  const p99 = (to: string): Spread => ratio(results, RELOADING, to, 'p99');
  return [
    ...toBase('200 with both credentials', UPDATE, 1.4),
    {
      name: '200 with 1,000 moments ahead, to none',
      spread: ratio(results, AHEAD, NONE_AHEAD),
      aim: '1.05 at most',
    },
    ...toBase('304', 'ours: 304', 1.3),
    ...toBase('401 for a wrong key', 'ours: 401 wrong key', 1.8),
    ...toBase('404', 'ours: 404', 1.8),
    ...toBase('200 with a new RS256 token', 'ours: every token new, RS256', 6),
    { name: `the same filter, ${sizes}`, spread: growth('again'), aim: '1.2 at most' },
    { name: `every filter new, ${sizes}`, spread: growth('new'), aim: '1.2 at most' },
    {
      name: 'plain Nest to ours',
      spread: ratio(results, 'plain Nest: 200 order update', UPDATE),
      aim: '5 at least',
    },
    {
      name: 'Fastify with pg and jose to ours',
      spread: ratio(results, 'Fastify: 200 order update', UPDATE),
      aim: '3 at least',
    },
    {
      name: 'p99 while one of 100,000 codes changes and is reloaded each second, to no change',
      spread: p99(STEADY),
      aim: '1.2 at most',
    },
    {
      name: 'the same p99, to codes of another database changing',
      spread: p99(WRITING),
      aim: '',
    },
  ].filter(({ spread }) => !Number.isNaN(spread.median));
}

/** The ratios of a run, to be compared with those of another. */
export const ratiosOf = (findings: Findings): Ratios =>
  Object.fromEntries(aims(findings).map(({ name, spread }) => [name, spread]));

/** The table of the scenarios and that of the ratios, in Markdown. Ratios are taken round by round: median (smallest to largest). */
export function report(findings: Findings): string {
  const { results, longestTurn, momentTurn, overload, many, bytesForCode, peaks, machine } =
    findings;
  const median = (name: string, figure: keyof Measurement): number =>
    spreadOf(series(results, name, figure)).median;
  const rows = [...results.keys()].map(
    (name) =>
      `| ${name} | ${median(name, 'cpu').toFixed(1)} | ${inWords(ratio(results, name, BASE))} | ${Math.round(median(name, 'perSecond'))} | ${median(name, 'p50').toFixed(1)} | ${median(name, 'p99').toFixed(1)} | ${Math.round(median(name, 'busy') * 100)} % |`,
  );
  return `
${machine}

| | CPU µs a request | to node:http | requests/s | p50 ms | p99 ms | busy |
|---|---|---|---|---|---|---|
${rows.join('\n')}

| Ratio of CPU a request: median (smallest to largest of the rounds) | measured | aim |
|---|---|---|
${aims(findings)
  .map(({ name, spread, aim }) => `| ${name} | ${inWords(spread)} | ${aim} |`)
  .join('\n')}
| longest turn of the event loop while reloading, ms | ${longestTurn.toFixed(1)} | 50 at most |
| longest turn at a moment at which a tenth of ${many.toLocaleString('en')} codes begins, ms | ${momentTurn.toFixed(1)} | 50 at most |
| bytes of memory for each code of 100 bytes, at ${many.toLocaleString('en')} | ${Math.round(bytesForCode)} | 400 at most |

${overload
  .map(
    ({ connections, capacity, answered, refused, refusedP99 }) =>
      `Asked for twice its ${Math.round(capacity)} requests/s over ${connections} connections: ${Math.round(100 * answered)} % of them are answered 200; ${refused} were refused${refused > 0 ? `, p99 ${refusedP99.toFixed(1)} ms` : ''}.`,
  )
  .join('\n')}

Peak memory: ${peaks.map(([name, peak]) => `${name} ${Math.round(peak)} MiB`).join('; ')}.
`;
}
