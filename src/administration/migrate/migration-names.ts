// A migration is a file of `migrations/`. Its name, without `.sql`, begins with the UTC time at which it was written,
// so files of two branches have different names. The files up to 2026-11 have numbers of four digits, and keep them.
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';

export const MIGRATIONS = join(import.meta.dirname, '..', '..', '..', 'migrations');

const NUMBERED = /^\d{4}_[a-z0-9_]+$/;
const TIMED = /^(?<time>\d{14})_[a-z0-9_]+$/;
const SUBJECT = /^[a-z0-9_]+$/;
const SECOND_MS = 1_000;

export interface Names {
  /** In the order in which they are applied. */
  readonly names: readonly string[];
  /** A sentence for each file that has another form of name. */
  readonly faults: readonly string[];
}

export async function readNames(folder = MIGRATIONS): Promise<Names> {
  const names: string[] = [];
  const faults: string[] = [];
  for (const file of await readdir(folder)) {
    if (file.startsWith('.')) continue; // of editors; node-pg-migrate passes them over, too
    const name = basename(file, '.sql');
    if (file.endsWith('.sql') && isName(name)) names.push(name);
    else faults.push(`${file}: a name such as 20261127120000_add_order_type.sql is needed.`);
  }
  return { names: names.sort(compareNames), faults: faults.sort() };
}

function isName(name: string): boolean {
  if (NUMBERED.test(name)) return true;
  const time = TIMED.exec(name)?.groups?.['time'];
  return time !== undefined && !Number.isNaN(momentOf(time));
}

/** As node-pg-migrate has it: by the number in front. */
function compareNames(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}

export function pathOf(name: string, folder = MIGRATIONS): string {
  return join(folder, `${name}.sql`);
}

export function isSubject(text: string): boolean {
  return SUBJECT.test(text);
}

/** A name that comes after all others, also those of somebody whose clock is ahead: the new file was written last. */
export function nextName(subject: string, names: readonly string[], nowMs = Date.now()): string {
  const lastTime = TIMED.exec(names.at(-1) ?? '')?.groups?.['time'];
  const afterLastMs = lastTime === undefined ? 0 : momentOf(lastTime) + SECOND_MS;
  return `${timeOf(Math.max(nowMs, afterLastMs))}_${subject}`;
}

function timeOf(moment: number): string {
  return new Date(moment).toISOString().replaceAll(/\D/g, '').slice(0, 'YYYYMMDDHHMMSS'.length);
}

/** NaN where the digits are no time, such as 20261399000000. */
function momentOf(time: string): number {
  const date = `${time.slice(0, 4)}-${time.slice(4, 6)}-${time.slice(6, 8)}`;
  const clock = `${time.slice(8, 10)}:${time.slice(10, 12)}:${time.slice(12, 14)}`;
  return Date.parse(`${date}T${clock}Z`);
}
