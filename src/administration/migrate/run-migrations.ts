// Runs files by node-pg-migrate, each in a transaction of its own together with its row in pgmigrations. The lock of
// node-pg-migrate, which belongs to the session, serializes the runs.
import { PG_MIGRATE_LOCK_ID, runner } from 'node-pg-migrate';
import { type Client, DatabaseError } from 'pg';
import type { DatabaseAddress } from '../../configuration/database-url.js';
import { AdministrationError, refuse, typed } from '../frame/command.js';
import { UnknownCommit } from '../frame/commit.js';
import type { Direction } from './migration-file.js';
import { faultOf } from './migration-fault.js';
import { sqlStrategies } from './migration-loader.js';
import { MIGRATIONS } from './migration-names.js';
import { withMigrationSession } from './migration-session.js';
import { assertFiles } from './migration-state.js';
import { RunProgress } from './run-progress.js';

export interface FileRun {
  readonly session: Client;
  readonly direction: Direction;
  /** The one file that is meant. Without it: on the way up all that are pending, on the way down the last one. */
  readonly name?: string;
  /** The caller's transaction is used, and the caller keeps others out. */
  readonly isInCallersTransaction?: boolean;
  /** Settings beside ours, for each file. */
  readonly limits?: string;
}

const IS_LOCKED = `select where not pg_try_advisory_lock(${PG_MIGRATE_LOCK_ID})`;
const UNLOCK = `select pg_advisory_unlock(${PG_MIGRATE_LOCK_ID})`;
/** SQLSTATE lock_not_available. */
const LOCK_TIMEOUT = '55P03';

/** node-pg-migrate would print each statement that fails, which may have 50 MB. All that it says comes as an error. */
const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore };

function ignore(): void {
  // nothing is printed
}

/** Applies the files that are pending. Gives their names. */
export function applyPending(address: DatabaseAddress = process.env): Promise<readonly string[]> {
  return inOwnSession(address, (session, progress) =>
    runFiles({ session, direction: 'up' }, progress),
  );
}

/** Undoes these files in this order, but for those that somebody has undone meanwhile. Gives the others. */
export function undo(
  names: readonly string[],
  address: DatabaseAddress = process.env,
): Promise<readonly string[]> {
  return inOwnSession(address, async (session, progress) => {
    for (const name of names) await runFiles({ session, direction: 'down', name }, progress);
  });
}

/** @throws AdministrationError with the file that stopped the run */
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
      migrationLoaderStrategies: sqlStrategies({ progress, isInCallersTransaction, limits }),
    });
  } catch (error) {
    const { current } = progress;
    if (current === undefined || error instanceof UnknownCommit) throw error;
    throw faultOf(error, current);
  }
  progress.finish();
}

async function inOwnSession(
  address: DatabaseAddress,
  work: (session: Client, progress: RunProgress) => Promise<void>,
): Promise<readonly string[]> {
  await assertFiles();
  const progress = new RunProgress();
  return withMigrationSession(address, async (session) => {
    await tellIfLocked(session);
    try {
      await work(session, progress);
    } catch (error) {
      throw withProgress(error, progress);
    }
    return progress.done;
  });
}

async function tellIfLocked(session: Client): Promise<void> {
  const { rowCount } = await session.query(IS_LOCKED);
  if (rowCount === 0) await session.query(UNLOCK);
  else process.stderr.write('Waiting for another run of migrations, for two minutes at most.\n');
}

/** What stopped the run, with what it did before. */
function withProgress(error: unknown, { current, done }: RunProgress): unknown {
  const isWaiting = current === undefined;
  if (isWaiting && error instanceof DatabaseError && error.code === LOCK_TIMEOUT) {
    refuse('Another run of migrations did not end within two minutes. Try again later.');
  }
  if (!(error instanceof AdministrationError)) return error;
  const lines = [error.message];
  if (error instanceof UnknownCommit) {
    lines.push(
      `It was the COMMIT of ${current?.name}. What is applied: ${typed('migrate', 'status')}`,
    );
  }
  if (done.length > 0) lines.push(`Done in this run: ${done.join(', ')}.`);
  return new AdministrationError(lines.join('\n'));
}
