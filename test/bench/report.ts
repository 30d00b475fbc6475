import type { Measurement } from './measure.js';
import type { Scenario } from './scenarios.js';

interface Round extends Measurement {
  /** CPU time of a request, in that of the hello world in the same round. */
  readonly ratio: number;
}

export interface Result {
  readonly scenario: Scenario;
  readonly rounds: Round[];
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? NaN;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function medianRatio({ rounds }: Result): number {
  return median(rounds.map(({ ratio }) => ratio));
}

/** Median and lower quartile: what else runs on the machine makes a round slower, hardly ever faster. */
function medianAndQuartile(values: readonly number[], digits: number): string {
  const lowerQuartile = quantile(values, 0.25);
  return `${median(values).toFixed(digits)} (${lowerQuartile.toFixed(digits)})`;
}

function row({ scenario, rounds }: Result): string {
  const ratios = rounds.map(({ ratio }) => ratio);
  const costs = rounds.map(({ cpuMicroseconds }) => cpuMicroseconds);
  const rates = rounds.map(({ requestsPerSecond }) => requestsPerSecond);
  const coreShares = rounds.map(({ coreShare }) => coreShare);
  const cells = [
    scenario.serverName,
    scenario.name,
    medianAndQuartile(ratios, 2),
    scenario.aim?.toFixed(2) ?? '',
    medianAndQuartile(costs, 1),
    median(rates).toFixed(0),
    (100 * median(coreShares)).toFixed(0),
  ];
  return `| ${cells.join(' | ')} |`;
}

/** A table in Markdown. */
export function table(results: readonly Result[]): string {
  const heads = [
    'Server',
    'Request',
    'CPU time, hello world = 1: median (lower quartile)',
    'Aim',
    'CPU time, µs',
    'Requests/s',
    '% of a core',
  ];
  const lines = [`| ${heads.join(' | ')} |`, `|${'---|'.repeat(heads.length)}`];
  return [...lines, ...results.map(row)].join('\n');
}
