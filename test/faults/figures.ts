import { readFileSync } from 'node:fs';

/** Median, p99 and largest of times in milliseconds, in words. */
export function quantiles(milliseconds: readonly number[]): string {
  const sorted = milliseconds.toSorted((a, b) => a - b);
  const at = (share: number): string =>
    `${(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN).toFixed(1)} ms`;
  return `median ${at(0.5)}, p99 ${at(0.99)}, largest ${at(1)}`;
}

export const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? NaN;

/** Resident memory of a process now, in MiB, as Linux counts it. */
export const residentMebibytes = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** Clock ticks a second, as Linux counts CPU time in /proc. */
const TICKS = 100;

/** Seconds of CPU time that a process has used, all threads, user and system. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}
