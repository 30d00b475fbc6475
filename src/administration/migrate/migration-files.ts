import { isUtf8 } from 'node:buffer';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Client } from 'pg';
import { typed, refuse } from '../frame/command.js';
import { columnOf } from '../frame/connect.js';

export const MIGRATIONS = join(import.meta.dirname, '..', '..', '..', 'migrations');

const MARKERS = ['-- Up Migration', '-- Down Migration'];
const EMPTY = `${MARKERS.join('\n\n\n')}\n\n`;
/** Has to be one: node-pg-migrate takes a misspelt marker for a comment, and would run the way back on the way up. */
const LIKE_A_MARKER = /^[^\w'(]*(?:u?pu?|d[own]{1,4})[\s_-]*migr/i;

export const pathOf = (name: string, folder = MIGRATIONS): string => join(folder, `${name}.sql`);
export const numberOf = (name = '0000'): number => Number(name.slice(0, 4));
export const subjectOf = (name: string): string => name.slice(5);
export const nameOf = (number: number, subject: string): string =>
  `${String(number).padStart(4, '0')}_${subject}`;

/** Names of all migrations, without .sql, in their order; two may have the same number. */
export async function migrationNames(folder = MIGRATIONS): Promise<string[]> {
  const files = (await readdir(folder)).filter((file) => !file.startsWith('.')).sort();
  const wrong = files.filter((file) => !/^\d{4}_[a-z0-9_]+\.sql$/.test(file));
  if (wrong.length > 0)
    refuse(`Names such as 0042_add_order_type.sql are needed, not ${wrong.join(', ')}.`);
  return files.map((file) => basename(file, '.sql'));
}

const SAME_NUMBER = `have the same number. Give those that are not on the main branch the next free ones: ${typed('migrate', 'renumber --base origin/main')}`;

/** The same, with every check that needs no database. */
export async function readMigrations(folder = MIGRATIONS): Promise<string[]> {
  const names = await migrationNames(folder);
  const faults: string[] = [];
  for (const [at, name] of names.entries()) {
    const next = names[at + 1];
    if (next?.slice(0, 4) === name.slice(0, 4))
      faults.push(`${name}.sql and ${next}.sql ${SAME_NUMBER}`);
    const fault = faultOf(await readFile(pathOf(name, folder)));
    if (fault) faults.push(`${name}.sql${fault}`);
  }
  if (faults.length > 0) refuse(faults.join('\n'));
  return names;
}

function faultOf(bytes: Uint8Array): string | undefined {
  if (!isUtf8(bytes)) return ' is not in UTF-8. Save it in that encoding.';
  const lines = new TextDecoder().decode(bytes).split('\n'); // without a byte order mark
  const markers = [...lines.keys()].filter((at) => LIKE_A_MARKER.test(lines[at] ?? ''));
  const wrong = markers.findIndex((at, index) => lines[at]?.trimEnd() !== MARKERS[index]);
  if (wrong < 0 && markers.length > 0) return undefined;
  return `, line ${(markers[wrong] ?? 0) + 1}: a file has one line "${MARKERS[0]}", and below what it does perhaps one line "${MARKERS[1]}", both written like this.`;
}

export async function createMigration(subject: string, text = EMPTY) {
  if (!/^[a-z0-9_]+$/.test(subject)) refuse(`"${subject}" is not a name such as add_order_type.`);
  const name = nameOf(numberOf((await migrationNames()).at(-1)) + 1, subject);
  await writeFile(pathOf(name), text, { flag: 'wx' });
  return { text: `created ${pathOf(name)}` };
}

const LOW = `is pending, and later ones are applied. Give it the next free number: ${typed('migrate', 'renumber --base origin/main')}`;

export type Direction = 'up' | 'down';
export type MigrationState = Awaited<ReturnType<typeof readState>>;

/** The files compared with the table of node-pg-migrate. */
export async function readState(client: Client) {
  const files = await readMigrations();
  const table = await client.query(`select where to_regclass('public.pgmigrations') is not null`);
  const query = 'select name from public.pgmigrations order by id';
  const names = table.rowCount ? await columnOf(client, query) : [];
  const fresh = files.filter((file) => !names.includes(file));
  // In the order in which they were applied; a name may be other than before `renumber`
  const applied = names.map((appliedAs) => {
    const isSame = (file: string): boolean => subjectOf(file) === subjectOf(appliedAs);
    const name = files.includes(appliedAs) ? appliedAs : fresh.find(isSame);
    const isNewer = numberOf(appliedAs) > numberOf(files.at(-1)); // of a newer release
    const state = name ? 'applied' : isNewer ? 'newer' : 'gone';
    return { name: name ?? appliedAs, appliedAs, state } as const;
  });
  const namesOf = (wanted: string) =>
    applied.flatMap(({ name, state }) => (state === wanted ? name : []));
  return {
    applied,
    pending: fresh.filter((file) => applied.every(({ name }) => name !== file)),
    newer: namesOf('newer'),
    gone: namesOf('gone').map(
      (name) =>
        `${name}.sql was applied, and its file is not here. Merge the branch that has it, or use the release of it. If it was deleted: git log --all --diff-filter=D -- migrations/${name}.sql`,
    ),
  };
}

/** As above, and writes the new names of renumbered migrations: on the way up once nothing is pending, since a lower number would then be too late. */
export async function takeState(client: Client, direction: Direction): Promise<MigrationState> {
  const state = await readState(client);
  if (state.gone.length > 0) refuse(state.gone.join('\n'));
  if (direction === 'up' && state.pending.length > 0) return state;
  const update = 'update public.pgmigrations set name = $1 where name = $2';
  for (const { name, appliedAs } of state.applied)
    if (name !== appliedAs) await client.query(update, [name, appliedAs]);
  return state;
}

export function pendingOf({ applied, pending }: MigrationState): string[] {
  const inOrder = applied.filter(({ name, appliedAs }) => name === appliedAs);
  const low = pending.filter((file) => inOrder.some(({ name }) => name > file));
  if (low.length > 0) refuse(low.map((name) => `${name}.sql ${LOW}`).join('\n'));
  return pending;
}

/** The last ones, the newest first. */
export function lastOf({ applied, newer }: MigrationState, count: number): string[] {
  const names = applied.map(({ name }) => name).slice(-count);
  const foreign = names.filter((name) => newer.includes(name));
  if (foreign.length > 0)
    refuse(`${foreign.join(', ')}: there is no such file here. Undo it with the newer release.`);
  return names.reverse();
}
