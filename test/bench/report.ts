import type { Measurement } from './measure.js';
import type { Scenario } from './scenarios.js';

interface Round extends Measurement {
  /** The CPU time of a request, divided by the hello world's in the same round. */
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

/** Returns the median, and the lower and the upper quartile as the spread. */
function medianAndSpread(values: readonly number[], digits: number): string {
  const [lower, middle, upper] = [0.25, 0.5, 0.75].map((share) => quantile(values, share).toFixed(digits));
  return `${middle} (${lower} to ${upper})`;
}

function formatRow({ scenario, rounds }: Result): string {
  const ratios = rounds.map(({ ratio }) => ratio);
  const costs = rounds.map(({ cpuMicroseconds }) => cpuMicroseconds);
  const rates = rounds.map(({ requestsPerSecond }) => requestsPerSecond);
  const coreShares = rounds.map(({ coreShare }) => coreShare);
  const cells = [
    scenario.serverName,
    scenario.name,
    medianAndSpread(ratios, 2),
    scenario.aim?.toFixed(2) ?? '',
    medianAndSpread(costs, 1),
    median(rates).toFixed(0),
    (100 * median(coreShares)).toFixed(0),
  ];
  return `| ${cells.join(' | ')} |`;
}

export function formatTable(results: readonly Result[]): string {
  const heads = [
    'Server',
    'Request',
    'CPU time, hello world = 1: median (quartiles)',
    'Aim',
    'CPU time, µs',
    'Requests/s',
    '% of a core',
  ];
  const lines = [`| ${heads.join(' | ')} |`, `|${'---|'.repeat(heads.length)}`];
  return [...lines, ...results.map(formatRow)].join('\n');
}
