import type { Client } from 'pg';
import { AdministrationError, typed } from '../frame/command.js';
import { numberOf, subjectOf } from './migration-files.js';

const GONE =
  'was applied, and its file is gone. Restore it, or use the release that it belongs to.';
const LOW = 'is pending, and later ones are applied. Give it the next free number:';

/** The files compared with the table of node-pg-migrate. */
export type MigrationState = Awaited<ReturnType<typeof readState>>;

export async function readState(client: Client, files: readonly string[]) {
  const table = await client.query(`select where to_regclass('public.pgmigrations') is not null`);
  const { rows } = await client.query<{ name: string }>(
    `select name from ${table.rowCount ? 'public.pgmigrations order by id' : "(values ('')) none (name) where false"}`,
  );
  const names = rows.map(({ name }) => name);
  const fresh = files.filter((file) => !names.includes(file));
  const applied = names.map((appliedAs) => {
    const isSame = (file: string): boolean => subjectOf(file) === subjectOf(appliedAs);
    const name = files.includes(appliedAs) ? appliedAs : fresh.find(isSame);
    return { name: name ?? appliedAs, appliedAs, isGone: name === undefined };
  });
  return {
    /** In the order in which they were applied; a name may be other than before `renumber`. */
    applied,
    pending: fresh.filter((file) => applied.every(({ name }) => name !== file)),
    /** A sentence for each applied file that is gone. */
    gone: applied.flatMap(({ name, isGone }) => (isGone ? `${name}.sql ${GONE}` : [])),
  };
}

/** As above, for a transaction that changes something: node-pg-migrate knows a migration by its name alone. */
export async function takeState(client: Client, files: readonly string[]): Promise<MigrationState> {
  const state = await readState(client, files);
  const update = 'update public.pgmigrations set name = $1 where name = $2';
  for (const { name, appliedAs } of state.applied)
    if (name !== appliedAs) await client.query(update, [name, appliedAs]);
  return state;
}

/**
 * @param isFirst of a run: later on a migration that was renumbered after it was applied has its new number
 * @throws AdministrationError that names each applied file that is gone, and each pending one whose number is too low
 */
export function pendingOf({ applied, pending, gone }: MigrationState, isFirst = true): string[] {
  const inOrder = applied.filter(({ name, appliedAs }) => name === appliedAs);
  const highest = Math.max(0, ...inOrder.map(({ name }) => numberOf(name)));
  const low = pending
    .filter((name) => isFirst && numberOf(name) < highest)
    .map((name) => `${name}.sql ${LOW} ${typed('migrate', 'renumber --base main')}`);
  if (gone.length + low.length > 0) throw new AdministrationError([...gone, ...low].join('\n'));
  return pending;
}

/** The last `count` migrations, the last one first. */
export const lastOf =
  (count: number) =>
  ({ applied, gone }: MigrationState): string[] => {
    const last = applied.slice(-count).reverse();
    if (last.some(({ isGone }) => isGone)) throw new AdministrationError(gone.join('\n'));
    return last.map(({ name }) => name);
  };
