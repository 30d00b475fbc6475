import type { Measurement } from './load.js';
import type { OverloadMeasurement } from './overload.js';

interface Findings {
  readonly results: ReadonlyMap<string, readonly Measurement[]>;
  /** Milliseconds, while codes were reloaded. */
  readonly longestTurn: number;
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

/** The name of a scenario with filters: one that is asked again, or each another one. */
export const filterScenario = (count: number, filter: 'again' | 'new' = 'again'): string =>
  `ours: ${filter === 'again' ? 'the same filter' : 'every filter new'}, ${count.toLocaleString('en')} codes`;

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? NaN;

/** The table and the ratios, in Markdown. */
export function report({
  results,
  longestTurn,
  overload,
  many,
  bytesForCode,
  peaks,
  machine,
}: Findings): string {
  const of = (name: string, figure: keyof Measurement): number =>
    median((results.get(name) ?? []).map((measurement) => measurement[figure]));
  const base = 'node:http, no credentials';
  const rows = [...results.keys()].map(
    (name) =>
      `| ${name} | ${of(name, 'cpu').toFixed(1)} | ${(of(name, 'cpu') / of(base, 'cpu')).toFixed(2)} | ${Math.round(of(name, 'perSecond'))} | ${of(name, 'p50').toFixed(1)} | ${of(name, 'p99').toFixed(1)} | ${Math.round(of(name, 'busy') * 100)} % |`,
  );
  const ratio = (a: string, b: string): string => (of(a, 'cpu') / of(b, 'cpu')).toFixed(2);
  const toBase = (name: string): string =>
    `${ratio(name, base)}; ${ratio(name + SLEEPS, base + SLEEPS)} where the client sleeps`;
  const update = 'ours: 200 order update';
  const p99To = (name: string): string => (of(RELOADING, 'p99') / of(name, 'p99')).toFixed(2);
  const growth = (filter: 'again' | 'new'): string =>
    ratio(filterScenario(many, filter), filterScenario(100, filter));
  return `
${machine}

| | CPU µs a request | to node:http | requests/s | p50 ms | p99 ms | busy |
|---|---|---|---|---|---|---|
${rows.join('\n')}

| Ratio of CPU a request | measured | aim |
|---|---|---|
| 200 with both credentials, to node:http without any | ${toBase(update)} | 1.5 at most |
| 304, to the same | ${toBase('ours: 304')} | 1.4 at most |
| 401 for a wrong key, to the same | ${toBase('ours: 401 wrong key')} | 2 at most |
| filtered, ${many.toLocaleString('en')} codes to 100 codes | ${growth('again')}; ${growth('new')} where every filter is new | 1.2 at most |
| plain Nest to ours | ${ratio('plain Nest: 200 order update', update)} | 5 at least |
| Fastify with pg and jose to ours | ${ratio('Fastify: 200 order update', update)} | 3 at least |
| p99 while one of 100,000 codes changes and is reloaded each second, to no change | ${p99To(STEADY)}; ${p99To(WRITING)} to codes of another database changing | 1.2 at most |
| longest turn of the event loop meanwhile, ms | ${longestTurn.toFixed(1)} | 50 at most |
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
