// The memory, the CPU time and the connections of a process. Linux shows them in /proc, and V8 knows its own heap.
import { readFileSync, readdirSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The unit of CPU time in /proc (USER_HZ), which is the same on every common Linux. */
const TICKS_PER_SECOND = 100;

/** Reads a line such as `VmRSS:   51200 kB`. */
const readMebibytes = (pid: number, name: string): number =>
  Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** Returns the resident memory now, in MiB. */
export const readResidentMebibytes = (pid: number): number => readMebibytes(pid, 'VmRSS');

/** Returns the largest resident memory so far, in MiB. */
export const readPeakMebibytes = (pid: number): number => readMebibytes(pid, 'VmHWM');

/** Returns the CPU time of all threads so far, in seconds, with the time in the kernel. */
export function readCpuSeconds(pid: number): number {
  const [, afterName = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  // The fields 14 and 15 of the file. The first field after the name is field 3
  const [userTicks, kernelTicks] = afterName.split(' ').slice(11, 13).map(Number);
  return ((userTicks ?? NaN) + (kernelTicks ?? NaN)) / TICKS_PER_SECOND;
}

/** Returns the number of open files and connections of a process. */
export const openDescriptors = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

/** Returns the bytes in this process's heap after a garbage collection. */
export function measureHeap(): number {
  setFlagsFromString('--expose-gc'); // adds the function `gc` to contexts that are made afterwards
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}
