import type { Client } from 'pg';
import { AdministrationError } from '../frame/command.js';
import {
  type AppliedEntry,
  appliedMigrations,
  assertConsistent,
  compareWithApplied,
  faultOf,
  recordApplied,
  recordUndone,
} from './applied-migrations.js';
import { runStatements } from './migration-session.js';
import { type Migration, readMigrations } from './read-migrations.js';

/** One migration to apply or to undo, within the transaction of its session. */
export interface Step {
  /** The name of its file, without .sql. */
  readonly name: string;
  readonly run: () => Promise<void>;
}

/** The steps that are left after `done` of them, as the database is now. */
export type StepsOf = (client: Client, done: number) => Promise<Step[]>;

/** Applies what is pending. All files are checked first. */
export async function stepsUp(folder: string): Promise<StepsOf> {
  const files = await readMigrations(folder);
  return async (client) => {
    const state = compareWithApplied(files, await appliedMigrations(client));
    assertConsistent(state);
    return state.pending.map((migration) => ({
      name: migration.name,
      run: () => apply(client, migration),
    }));
  };
}

/**
 * Undoes the last `count`.
 * @param shown their names, as the person saw them: another run may have applied or undone some since
 */
export async function stepsDown(
  folder: string,
  count: number,
  shown?: readonly string[],
): Promise<StepsOf> {
  const files = await readMigrations(folder);
  return async (client, done) => {
    const { applied } = compareWithApplied(files, await appliedMigrations(client));
    const steps = applied
      .toReversed()
      .slice(0, count - done)
      .map((entry) => ({
        name: entry.migration?.name ?? entry.name,
        run: () => undo(client, entry),
      }));
    if (shown && steps.some(({ name }, at) => name !== shown[at + done]))
      throw new AdministrationError(
        `Another run has applied or undone migrations meanwhile: ${steps[0]?.name} is the last one now. Run the command again.`,
      );
    return steps;
  };
}

async function apply(client: Client, migration: Migration): Promise<void> {
  await runStatements(client, migration.name, migration.up);
  await recordApplied(client, migration);
}

async function undo(client: Client, entry: AppliedEntry): Promise<void> {
  const { migration } = entry;
  const fault = faultOf(entry);
  if (!migration || fault) throw new AdministrationError(fault ?? '');
  if (migration.down.length === 0)
    throw new AdministrationError(
      `${migration.name}.sql has no statement below "-- Down Migration". Write a new migration that undoes it.`,
    );
  await runStatements(client, migration.name, migration.down);
  await recordUndone(client, entry.name);
}
