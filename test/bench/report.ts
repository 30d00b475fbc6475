import type { Measurement } from './load.js';

/** Median (smallest to largest). */
function inWords(values: readonly number[], digits: number): string {
  const sorted = values.toSorted((a, b) => a - b);
  const [median, smallest, largest] = [sorted[sorted.length >> 1], sorted[0], sorted.at(-1)].map(
    (value) => (value ?? NaN).toFixed(digits),
  );
  return `${median} (${smallest} to ${largest})`;
}

/** `ratio` is the CPU time of a request to that of the base just before. */
export type Compared = Measurement & { readonly ratio: number };

/** A table of all scenarios. */
export function report(results: ReadonlyMap<string, readonly Compared[]>, base: string): string {
  const rows = [...results].map(([name, rounds]) => {
    const of = (figure: keyof Compared): number[] => rounds.map((each) => each[figure]);
    const shares = of('busy').map((share) => 100 * share);
    return `| ${name} | ${inWords(of('cpu'), 1)} | ${inWords(of('ratio'), 2)} | ${inWords(of('perSecond'), 0)} | ${inWords(of('p99'), 1)} | ${inWords(of('turn'), 1)} | ${inWords(shares, 0)} |`;
  });
  return `| | CPU µs a request | to ${base} | requests/s | p99 ms | longest turn of the event loop, ms | % of a core |
|---|---|---|---|---|---|---|
${rows.join('\n')}`;
}
