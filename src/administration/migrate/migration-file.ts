// What stands in a file: one line "-- Up Migration", the SQL of the way up, and perhaps one line "-- Down Migration"
// with the SQL of the way back. Line ends of Windows, a byte order mark and a missing last line end do not count.
import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { MIGRATIONS, pathOf, readNames } from './migration-names.js';

export type Direction = 'up' | 'down';

/** The SQL of both ways. In front of each stand empty lines, so that line 7 of it is line 7 of the file. */
export interface MigrationFile {
  readonly name: string;
  readonly up: string;
  readonly down: string;
}

const UP = '-- Up Migration';
const DOWN = '-- Down Migration';
export const EMPTY_FILE = `${UP}\n\n\n${DOWN}\n\n`;

/** A misspelt marker would be a comment to PostgreSQL, and the way back would run on the way up. */
const LIKE_A_MARKER = /^[^\w'(]*(?:u?pu?|d[own]{1,4})[\s_-]*migr/i;
/** What git leaves where two branches changed the same lines. */
const CONFLICT_MARKER = /^(?:<{7}|>{7}|\|{7}) |^={7}$/;
/** A line that is more than white space, a comment and semicolons. */
const STATEMENT = /^\s*(?!--)[^\s;]/m;

export async function readMigrationFile(name: string, folder = MIGRATIONS): Promise<MigrationFile> {
  const lines = linesOf(await readFile(pathOf(name, folder)));
  const upAt = lines.findIndex((line) => line.trimEnd() === UP);
  const downAt = lines.findIndex((line) => line.trimEnd() === DOWN);
  const hasWayBack = downAt >= 0;
  return {
    name,
    up: sectionOf(lines, upAt, hasWayBack ? downAt : lines.length),
    down: hasWayBack ? sectionOf(lines, downAt, lines.length) : '',
  };
}

export function hasStatement(sql: string): boolean {
  return STATEMENT.test(sql);
}

/** Names and contents of all files, without a database. A sentence for each fault. */
export async function faultsOfFiles(folder = MIGRATIONS): Promise<string[]> {
  const { names, faults } = await readNames(folder);
  const found = [...faults];
  for (const name of names) {
    const fault = faultOfFile(await readFile(pathOf(name, folder)));
    if (fault !== undefined) found.push(`${name}.sql${fault}`);
  }
  return found;
}

function faultOfFile(bytes: Uint8Array): string | undefined {
  if (!isUtf8(bytes)) return ' is not in UTF-8. Save it in that encoding.';
  const lines = linesOf(bytes);
  const conflictAt = lines.findIndex((line) => CONFLICT_MARKER.test(line));
  if (conflictAt >= 0) {
    return `, line ${conflictAt + 1}: a conflict of git is not resolved. Choose the lines that count.`;
  }
  const line = lineOfWrongMarker(lines);
  if (line === undefined) return undefined;
  return (
    `, line ${line}: a file has one line "${UP}", and below what it does perhaps one line "${DOWN}", ` +
    'both written like this.'
  );
}

/** From 1. The first marker has to be that of the way up, the second that of the way back, and there is no third. */
function lineOfWrongMarker(lines: readonly string[]): number | undefined {
  const expected = [UP, DOWN];
  for (const [index, line] of lines.entries()) {
    if (LIKE_A_MARKER.test(line) && line.trimEnd() !== expected.shift()) return index + 1;
  }
  const hasUp = expected[0] !== UP;
  return hasUp ? undefined : 1;
}

/** TextDecoder takes the byte order mark away. */
function linesOf(bytes: Uint8Array): string[] {
  return new TextDecoder().decode(bytes).replaceAll('\r\n', '\n').split('\n');
}

function sectionOf(lines: readonly string[], markerAt: number, endAt: number): string {
  const linesBefore = markerAt + 1;
  return '\n'.repeat(linesBefore) + lines.slice(linesBefore, endAt).join('\n');
}
