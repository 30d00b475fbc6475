// The memory, the CPU time and the connections of a process. Linux shows them in /proc, and V8 knows its own heap.
import { readFileSync, readdirSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The number of clock ticks in a second. /proc counts CPU time in ticks (USER_HZ, 100 on every common Linux). */
const TICKS = 100;

const mebibytes = (pid: number, name: string): number =>
  Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** Returns the resident memory now, in MiB. */
export const residentMebibytes = (pid: number): number => mebibytes(pid, 'VmRSS');

/** Returns the largest resident memory so far, in MiB. */
export const peakMebibytes = (pid: number): number => mebibytes(pid, 'VmHWM');

/** Returns the CPU time of all threads so far, in seconds, with that of the kernel. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

/** Returns the number of open files and connections of a process. */
export const openDescriptors = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

/** Returns the bytes in this process's heap after a garbage collection. */
export function usedHeap(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}
