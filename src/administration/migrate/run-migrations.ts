// Runs each migration in its own session and transaction, together with its row in applied_migration: all of it is committed or nothing.
// Concurrent runs are serialized by a transaction-level advisory lock, so a killed run leaves no lock behind.
import type { Client } from 'pg';
import { AdministrationError } from '../frame/administration-error.js';
import {
  type AppliedEntry,
  appliedMigrations,
  assertConsistent,
  compareWithApplied,
  faultOf,
  recordApplied,
  recordUndone,
} from './applied-migrations.js';
import { failureOf } from './failure.js';
import { type Open, beginAlone, runStatements } from './migration-session.js';
import { type Migration, readMigrations } from './read-migrations.js';

/**
 * Applies the pending migrations.
 * @returns the names of what this run applied
 * @throws AdministrationError that names file, line, statement and what PostgreSQL said, what this run applied and what it did not
 */
export async function applyMigrations(folder: string, open: Open): Promise<string[]> {
  const migrations = await readMigrations(folder);
  const done: string[] = [];
  for (;;) {
    let left: readonly Migration[] = [];
    const name = await inTransaction(open, async (client) => {
      const state = compareWithApplied(migrations, await appliedMigrations(client));
      assertConsistent(state);
      left = state.pending;
      return left[0] && apply(client, left[0]);
    }).catch((error: unknown) => {
      throw withProgress(
        error,
        'applied',
        done,
        left.map((migration) => migration.name),
      );
    });
    if (name === undefined) return done;
    done.push(name);
  }
}

/** Undoes the last `count` migrations, the last one first. Returns and throws as above. */
export async function undoMigrations(folder: string, open: Open, count: number): Promise<string[]> {
  const migrations = await readMigrations(folder);
  const done: string[] = [];
  while (done.length < count) {
    let left: string[] = [];
    const name = await inTransaction(open, async (client) => {
      const { applied } = compareWithApplied(migrations, await appliedMigrations(client));
      left = applied
        .toReversed()
        .slice(0, count - done.length)
        .map((entry) => entry.name);
      const last = applied.at(-1);
      return last && undo(client, last);
    }).catch((error: unknown) => {
      throw withProgress(error, 'undone', done, left);
    });
    if (name === undefined) return done;
    done.push(name);
  }
  return done;
}

/** @returns its name */
export async function apply(client: Client, migration: Migration): Promise<string> {
  await runStatements(client, migration.name, migration.up);
  await recordApplied(client, migration);
  await raiseTopics(client);
  return migration.name;
}

/** @returns its name */
export async function undo(client: Client, entry: AppliedEntry): Promise<string> {
  const { migration } = entry;
  const fault = faultOf(entry);
  if (!migration || fault) throw new AdministrationError(fault ?? '');
  if (migration.down.length === 0)
    throw new AdministrationError(
      `${migration.name}.sql has no statement below "-- Down Migration". Write a new migration that undoes it.`,
    );
  await runStatements(client, migration.name, migration.down);
  await recordUndone(client, entry.name);
  await raiseTopics(client);
  return migration.name;
}

/** Makes all replicas read everything, because a migration may have bypassed the triggers. */
async function raiseTopics(client: Client): Promise<void> {
  const { rows } = await client.query<{ there: boolean }>(
    `select to_regprocedure('public.raise_every_topic()') is not null as there`,
  );
  if (rows[0]?.there) await client.query('select public.raise_every_topic()');
}

async function inTransaction(
  open: Open,
  work: (client: Client) => Promise<string | undefined>,
): Promise<string | undefined> {
  const client = await open();
  try {
    await beginAlone(client);
    const name = await work(client);
    await client.query('commit').catch((error: unknown) => {
      throw failureOf(`${name}.sql`, undefined, error); // a deferred constraint
    });
    return name;
  } finally {
    await client.end(); // this also ends the transaction
  }
}

function withProgress(
  error: unknown,
  done: string,
  names: readonly string[],
  left: readonly string[],
): unknown {
  if (!(error instanceof AdministrationError) || left.length === 0) return error;
  const list = (all: readonly string[]): string => all.join(', ') || 'none';
  return new AdministrationError(
    `${error.message}\nIn this run ${done}: ${list(names)}. Not ${done}: ${list(left)}. Mend the file and run the command again.`,
  );
}
