/** What the rounds of a run gave for one figure. */
export interface Spread {
  readonly median: number;
  readonly smallest: number;
  readonly largest: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  return {
    median: sorted[sorted.length >> 1] ?? NaN,
    smallest: sorted[0] ?? NaN,
    largest: sorted.at(-1) ?? NaN,
  };
}

/** The ratios of two series of one run, round by round, so that what slows a whole round down cancels out. */
export const ratios = (of: readonly number[], to: readonly number[]): number[] =>
  of.map((value, round) => value / (to[round] ?? NaN));

export const inWords = ({ median, smallest, largest }: Spread): string =>
  `${median.toFixed(2)} (${smallest.toFixed(2)} to ${largest.toFixed(2)})`;
