import type { Measurement } from './load.js';

/** Median (smallest to largest). */
function inWords(values: readonly number[], digits: number): string {
  const sorted = values.toSorted((a, b) => a - b);
  const [median, smallest, largest] = [sorted[sorted.length >> 1], sorted[0], sorted.at(-1)].map(
    (value) => (value ?? NaN).toFixed(digits),
  );
  return `${median} (${smallest} to ${largest})`;
}

/** A table of all scenarios. Ratios are taken round by round, so that what slows a whole round down cancels out. */
export function report(results: ReadonlyMap<string, readonly Measurement[]>, base: string): string {
  const rows = [...results].map(([name, rounds]) => {
    const of = (figure: keyof Measurement): number[] => rounds.map((each) => each[figure]);
    const ratios = rounds.map(({ cpu }, at) => cpu / (results.get(base)?.[at]?.cpu ?? NaN));
    const shares = of('busy').map((share) => 100 * share);
    return `| ${name} | ${inWords(of('cpu'), 1)} | ${inWords(ratios, 2)} | ${inWords(of('perSecond'), 0)} | ${inWords(of('p99'), 1)} | ${inWords(of('turn'), 1)} | ${inWords(shares, 0)} |`;
  });
  return `| | CPU µs a request | to ${base} | requests/s | p99 ms | longest turn of the event loop, ms | % of a core |
|---|---|---|---|---|---|---|
${rows.join('\n')}`;
}
