// Runs files by node-pg-migrate: for good, each in a transaction of its own together with its row in pgmigrations, or
// in the transaction of a rehearsal.
import { PG_MIGRATE_LOCK_ID, runner } from 'node-pg-migrate';
import type { Client } from 'pg';
import type { DatabaseAddress } from '../../configuration/database-url.js';
import type { Session } from '../../database/session.js';
import { CliError, describeError } from '../cli/program.js';
import { isRefusal } from '../cli/session-end.js';
import type { Direction } from './migration-file.js';
import { faultOf } from './migration-fault.js';
import { sqlStrategies } from './migration-loader.js';
import { MIGRATIONS } from './migration-names.js';
import { withMigrationSession } from './migration-session.js';
import { assertFiles, readState } from './migration-state.js';
import { RunProgress } from './run-progress.js';

export interface FileRun {
  readonly session: Session;
  readonly direction: Direction;
  /** The one file that is meant. Without it: on the way up all that are pending, on the way down the last one. */
  readonly name?: string;
  /** The caller's transaction is used, and the caller keeps others out. */
  readonly isInCallersTransaction?: boolean;
  /** Settings beside ours, for each file. */
  readonly limits?: string;
}

/** The lock belongs to the session, and may be taken more than once by it. */
const TRY_LOCK = `select pg_try_advisory_lock(${PG_MIGRATE_LOCK_ID}) as "isOurs"`;
const LOCK = `select pg_advisory_lock(${PG_MIGRATE_LOCK_ID})`;
/** SQLSTATE lock_not_available. */
const LOCK_TIMEOUT = '55P03';

/** node-pg-migrate would print each statement that fails, which may have 50 MB. All that it says comes as an error. */
const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore };

function ignore(): void {
  // nothing is printed
}

/** Applies the files that are pending. Gives their names. */
export function applyPending(address: DatabaseAddress = process.env): Promise<readonly string[]> {
  return inOwnSession(address, (session, progress) => runFiles({ session, direction: 'up' }, progress));
}

/**
 * Undoes these files in this order, but for those that somebody has undone meanwhile. Gives the others.
 * @throws CliError, with nothing undone, if they are no longer the last ones
 */
export function undo(names: readonly string[], address: DatabaseAddress = process.env): Promise<readonly string[]> {
  return inOwnSession(address, async (session, progress) => {
    const { applied } = await readState(session);
    const remaining = names.filter((name) => applied.includes(name));
    assertLast(remaining, applied);
    for (const name of remaining) await runFiles({ session, direction: 'down', name }, progress);
  });
}

/** A way back is written for what the files before it made, so no other file may have come behind. */
function assertLast(names: readonly string[], applied: readonly string[]): void {
  const first = applied.findIndex((name) => names.includes(name));
  if (first < 0) return;
  const later = applied.slice(first).filter((name) => !names.includes(name));
  if (later.length === 0) return;
  throw new CliError(
    `${later.join(', ')} was applied meanwhile. Nothing was undone. ` +
      'Run the command again to see what it would undo now.',
  );
}

/**
 * The files that `run` asks for, one after the other. Up to the first that fails they are applied or undone.
 * @throws CliError that names that file
 */
export async function runFiles(run: FileRun, progress = new RunProgress()): Promise<void> {
  const { session, direction, name, isInCallersTransaction = false, limits = '' } = run;
  try {
    await runner({
      dbClient: session,
      dir: MIGRATIONS,
      direction,
      ...(name === undefined ? {} : { file: name }),
      migrationsTable: 'pgmigrations',
      checkOrder: false, // names carry the time: files of two branches do not depend on each other
      singleTransaction: false,
      advisoryLockMode: 'wait',
      noLock: isInCallersTransaction,
      logger: SILENT,
      migrationLoaderStrategies: sqlStrategies({ session, progress, isInCallersTransaction, limits }),
    });
  } catch (error) {
    const { current } = progress;
    throw current === undefined ? error : faultOf(error, current);
  }
  progress.finish();
}

/** No other run comes between the first look of the work and its last file. */
async function inOwnSession(
  address: DatabaseAddress,
  work: (session: Session, progress: RunProgress) => Promise<void>,
): Promise<readonly string[]> {
  await assertFiles();
  const progress = new RunProgress();
  return withMigrationSession(address, async (session) => {
    await takeLock(session);
    try {
      await work(session, progress);
    } catch (error) {
      throw withDone(error, progress.done);
    }
    return progress.done;
  });
}

/**
 * The lock that node-pg-migrate takes for each of its runs. Taken here before, it is not free between two of them. It
 * is released with the session.
 */
async function takeLock(session: Client): Promise<void> {
  const { rows } = await session.query<{ isOurs: boolean }>(TRY_LOCK);
  if (rows[0]?.isOurs) return;
  process.stderr.write('Waiting for another run of migrations, for two minutes at most.\n');
  try {
    await session.query(LOCK);
  } catch (error) {
    if (!isRefusal(error) || error.code !== LOCK_TIMEOUT) throw error;
    throw new CliError('Another run of migrations did not end within two minutes. Try again later.');
  }
}

/** What stopped a run, and what the run did before. */
function withDone(error: unknown, done: readonly string[]): unknown {
  if (done.length === 0) return error;
  const text = `${describeError(error)}\nDone in this run: ${done.join(', ')}.`;
  return new CliError(text);
}
