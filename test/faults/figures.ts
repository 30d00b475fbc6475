import type { TrafficReport } from '../support/traffic.js';

/** Returns the median, the 99th percentile and the largest of these times in milliseconds, in words. */
export function quantiles(milliseconds: readonly number[]): string {
  const sorted = milliseconds.toSorted((a, b) => a - b);
  const at = (share: number): string =>
    `${(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN).toFixed(1)} ms`;
  return `median ${at(0.5)}, p99 ${at(0.99)}, largest ${at(1)}`;
}

export const failuresIn = ({ asked, failed, late, p99, largest }: TrafficReport): string =>
  `${failed} of ${asked} requests failed, ${late} of them only because the right answer was late ` +
  `(p99 ${p99.toFixed(1)} ms, largest ${largest.toFixed(1)} ms)`;
