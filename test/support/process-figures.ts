// How much memory, CPU time and connections a process uses: Linux tells it in /proc, V8 of its own heap.
import { readFileSync, readdirSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Clock ticks a second, in which CPU time is counted: USER_HZ, the same on every common Linux. */
const TICKS = 100;

const mebibytes = (pid: number, name: string): number =>
  Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** Resident memory now, in MiB. */
export const residentMebibytes = (pid: number): number => mebibytes(pid, 'VmRSS');

/** Resident memory at most, in MiB. */
export const peakMebibytes = (pid: number): number => mebibytes(pid, 'VmHWM');

/** Seconds of CPU time used so far, all threads, user and system. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

/** How many files and connections a process has open. */
export const openDescriptors = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

/** The bytes that this process's heap holds after a garbage collection. */
export function usedHeap(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}
