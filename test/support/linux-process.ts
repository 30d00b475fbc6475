// What Linux tells of a process, in /proc.
import { readFileSync, readdirSync } from 'node:fs';

/** Clock ticks a second, in which CPU time is counted. */
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
