// Reads, checks and writes the migrations. A file has a line "-- Up Migration" and SQL, and perhaps a line
// "-- Down Migration" and the SQL that undoes the migration.
import { isUtf8 } from 'node:buffer';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { OperatorError } from '../../telemetry/error-message.js';

export const MIGRATIONS = join(import.meta.dirname, '..', '..', '..', 'migrations');

/** The form of the first five names, such as 0001_create_code_tables. */
const NUMBERED_NAME = /^\d{4}_[a-z0-9_]+$/;
/** The form of all later names. They begin with the UTC time of writing, so that names of two branches differ. */
const TIMED_NAME = /^(?<time>\d{14})_[a-z0-9_]+$/; // such as 20261127120000_add_order_type
const SUBJECT = /^[a-z0-9_]+$/;
const SECOND_MS = 1_000;

const UP = '-- Up Migration';
const DOWN = '-- Down Migration';
const EMPTY = `${UP}\n\n\n${DOWN}\n\n`;

const LIKE_UP = 'u?pu?'; // up, p, pu
const LIKE_DOWN = 'd[own]{1,4}'; // down, dwon, don, dow
/**
 * Matches a line that was probably meant as a marker, such as `-- Dwon migration`, but not a row of SQL such as
 * `('Up migration'),`. If you widen it, `migrate up` may refuse a released file: run `npm run migrate -- check`.
 */
const LIKE_A_MARKER = new RegExp(String.raw`^[^\w'(]*(?:${LIKE_UP}|${LIKE_DOWN})[\s_-]*migr`, 'i');
/** A line that git writes if two branches changed the same lines. */
const CONFLICT_MARKER = /^(?:<{7}|>{7}|\|{7}) |^={7}$/;

export type Direction = 'up' | 'down';

/** The SQL of both directions. Each SQL begins with empty lines, so that its line numbers are those of the file. */
export interface Migration {
  readonly name: string;
  readonly up: string;
  readonly down: string;
}

interface Names {
  /** The names without `.sql`, in the order in which `up` applies the files. */
  readonly names: readonly string[];
  /** A sentence for each file with a wrong name. */
  readonly faults: readonly string[];
}

export async function readNames(folder = MIGRATIONS): Promise<Names> {
  const names: string[] = [];
  const faults: string[] = [];
  for (const file of await readdir(folder)) {
    if (file.startsWith('.')) continue; // editors write such files, and node-pg-migrate ignores them, too
    const name = basename(file, '.sql');
    if (file.endsWith('.sql') && isName(name)) names.push(name);
    else faults.push(`${file}: a name such as 20261127120000_add_order_type.sql is needed.`);
  }
  return { names: names.sort(compareNames), faults: faults.sort() };
}

function isName(name: string): boolean {
  if (NUMBERED_NAME.test(name)) return true;
  const time = TIMED_NAME.exec(name)?.groups?.['time'];
  return time !== undefined && !Number.isNaN(parseNameTime(time));
}

/**
 * Compares two names as node-pg-migrate compares the files: first their numbers, then their texts without punctuation.
 * If `plan` tried the files in another order than `up`, it could fail or show other changes.
 */
export function compareNames(one: string, other: string): number {
  const numberDifference = Number.parseInt(one, 10) - Number.parseInt(other, 10);
  if (numberDifference !== 0) return numberDifference;
  return `${one}.sql`.localeCompare(`${other}.sql`, undefined, { numeric: true, ignorePunctuation: true });
}

/** Writes a new migration whose name comes after all others, and returns its path. */
export async function createMigration(subject: string, text = EMPTY): Promise<string> {
  assertSubject(subject);
  const { names } = await readNames();
  const path = toPath(chooseName(subject, names));
  await writeFile(path, text, { flag: 'wx' });
  return path;
}

/**
 * Returns a name that comes after all `names`, even if one of them has a time in the future.
 * @param earliestMs the time in the name, unless `names` contains this time or a later one
 */
export function chooseName(subject: string, names: readonly string[], earliestMs = Date.now()): string {
  const lastName = names.toSorted(compareNames).at(-1) ?? '';
  const lastTime = TIMED_NAME.exec(lastName)?.groups?.['time'];
  const afterLastMs = lastTime === undefined ? 0 : parseNameTime(lastTime) + SECOND_MS;
  return `${formatNameTime(Math.max(earliestMs, afterLastMs))}_${subject}`;
}

export function assertSubject(subject: string): void {
  if (SUBJECT.test(subject)) return;
  throw new OperatorError(`"${subject}" is not a name such as add_order_type: use only a to z, 0 to 9 and _.`);
}

function formatNameTime(timeMs: number): string {
  return new Date(timeMs).toISOString().replaceAll(/\D/g, '').slice(0, 'YYYYMMDDHHMMSS'.length);
}

/** Returns milliseconds since the epoch, or NaN for digits such as 20261399000000, which are no time. */
function parseNameTime(digits: string): number {
  const date = `${digits.slice(0, 4)}-${digits.slice(4, 6)}-${digits.slice(6, 8)}`;
  const clock = `${digits.slice(8, 10)}:${digits.slice(10, 12)}:${digits.slice(12, 14)}`;
  return Date.parse(`${date}T${clock}Z`);
}

export function formatMigration(title: string, up: readonly string[], down: readonly string[]): string {
  return `${[`-- ${title}`, UP, ...up, DOWN, ...down].join('\n\n')}\n`;
}

export async function readMigration(name: string, folder = MIGRATIONS): Promise<Migration> {
  return parseMigration(name, await readFile(toPath(name, folder)));
}

/** The text must have passed `findFault`. Without the line "-- Up Migration", the SQL of `up` would begin at line 1. */
export function parseMigration(name: string, bytes: Uint8Array): Migration {
  const lines = splitLines(bytes);
  const upAt = lines.findIndex((line) => line.trimEnd() === UP);
  const downAt = lines.findIndex((line) => line.trimEnd() === DOWN);
  const hasDown = downAt >= 0;
  return {
    name,
    up: extractSection(lines, upAt, hasDown ? downAt : lines.length),
    down: hasDown ? extractSection(lines, downAt, lines.length) : '',
  };
}

/** Returns whether the SQL has more than white space, semicolons and `--` comments. A block comment is more. */
export function hasStatement(sql: string): boolean {
  const sqlWithoutComments = sql.replaceAll(/--.*/g, '');
  return /[^\s;]/.test(sqlWithoutComments);
}

export async function assertMigrations(): Promise<void> {
  const faults = await findFaults();
  if (faults.length > 0) throw new OperatorError(faults.join('\n'));
}

export async function findFaults(folder = MIGRATIONS): Promise<string[]> {
  const { names, faults } = await readNames(folder);
  const found = [...faults];
  for (const name of names) {
    const fault = await readFile(toPath(name, folder)).then(findFault, describeUnreadable);
    if (fault !== undefined) found.push(`${name}.sql${fault}`);
  }
  return found;
}

function describeUnreadable({ code }: NodeJS.ErrnoException): string {
  return ` cannot be read (${code}). Make it a file that this user may read.`;
}

/** Returns the end of a sentence that begins with the name of the file, or undefined if there is no fault. */
function findFault(bytes: Uint8Array): string | undefined {
  // UTF-16 without a byte order mark may be valid UTF-8 with U+0000, which PostgreSQL refuses
  if (!isUtf8(bytes) || bytes.includes(0)) return ' is not in UTF-8. Save it in that encoding.';
  const lines = splitLines(bytes);
  const conflictAt = lines.findIndex((line) => CONFLICT_MARKER.test(line));
  if (conflictAt >= 0) {
    return `, line ${conflictAt + 1}: a conflict of git is not resolved. Keep the right lines only.`;
  }
  return findWrongMarker(lines);
}

/** Finds a marker that is misspelt, missing or in the wrong place. The right order is UP, then perhaps one DOWN. */
function findWrongMarker(lines: readonly string[]): string | undefined {
  const markers: { readonly text: string; readonly line: number }[] = [];
  // PostgreSQL would take "-- Dwon migration" for a comment, and run the down migration together with the up migration
  for (const [index, line] of lines.entries()) {
    if (LIKE_A_MARKER.test(line)) markers.push({ text: line.trimEnd(), line: index + 1 });
  }
  if (markers.length === 0) return `: the line "${UP}" is missing. Write it above the SQL.`;
  const expected = [UP, DOWN];
  const wrong = markers.find(({ text }, index) => text !== expected[index]);
  return wrong && `, line ${wrong.line}: ${describeMarker(wrong.text)}`;
}

function describeMarker(marker: string): string {
  const isMisspelt = marker !== UP && marker !== DOWN;
  return isMisspelt
    ? `a marker is misspelt. Write "${UP}" or "${DOWN}".`
    : `"${marker}" is in the wrong place. One line "${UP}" comes first, and below its SQL perhaps one "${DOWN}".`;
}

function toPath(name: string, folder = MIGRATIONS): string {
  return join(folder, `${name}.sql`);
}

/** Splits a text at its line ends. TextDecoder removes the byte order mark. */
function splitLines(bytes: Uint8Array): string[] {
  return new TextDecoder().decode(bytes).replaceAll('\r\n', '\n').split('\n');
}

function extractSection(lines: readonly string[], markerAt: number, endAt: number): string {
  const linesBefore = markerAt + 1;
  return '\n'.repeat(linesBefore) + lines.slice(linesBefore, endAt).join('\n');
}
