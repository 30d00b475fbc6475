// Runs work in one transaction that is never committed, as `plan` and `down` need it to see what files would do.
//
// The tables of codes and keys are locked first, so what others change in them never appears in the work. A rehearsal
// gives way to others: another session looks all the time whether somebody waits for it, and ends it within a second.
// It ends within 20 s, and leaves no lock.
import { setTimeout as pause } from 'node:timers/promises';
import { type Client, DatabaseError } from 'pg';
import type { DatabaseAddress } from '../../configuration/database-url.js';
import { messageOf } from '../../telemetry/error-message.js';
import { columnOf } from '../frame/column-of.js';
import { AdministrationError } from '../frame/command.js';
import { type Work, withReading, withRollback } from '../frame/connect.js';
import { LostConnection } from '../frame/session-end.js';
import { InterruptedFile, MigrationFault } from './migration-fault.js';
import { assertFiles, readState } from './migration-state.js';
import { runFiles } from './run-migrations.js';

const LIMIT_SECONDS = 20;
const LOOK_INTERVAL_MS = 50;
const LOOK_LIMIT_MS = 5_000;

/**
 * With these the server itself ends a rehearsal whose client is gone, and leaves no lock.
 * - A lock is waited for longer than `deadlock_timeout` (1 s by default): only then autovacuum gives way to us.
 * - Between two statements the client may compute for a second at most, so what takes longer belongs behind the
 *   rehearsal.
 */
export const REHEARSAL_LIMITS = [
  `set local lock_timeout = '3s'`,
  `set local statement_timeout = '${LIMIT_SECONDS}s'`,
  `set local idle_in_transaction_session_timeout = '1s'`,
].join('; ');

/** Others may read, and nobody may write. In an empty database there is nothing to lock yet. */
const LOCK = `do $$ begin
  lock table public.code_list, public.code_list_value, public.area_property, public.communication_code, public.api_key
    in share row exclusive mode;
exception when undefined_table then null; end $$`;

const WAITING = `select from pg_locks where not granted and $1 = any (pg_blocking_pids(pid))
  and clock_timestamp() - waitstart > interval '500 ms' limit 1`;

/** SQLSTATE unsafe_new_enum_value_usage: a new value of an enum is used before it is committed. */
const ENUM_VALUE_TOO_NEW = '55P04';
/** SQLSTATEs of REHEARSAL_LIMITS and of a deadlock: the cause is others or the time, and not a statement. */
const GAVE_UP = ['55P03', '57014', '40P01'];

/** Others had to wait, or it took too long. */
class GaveWay extends Error {}

/**
 * Looks at the database as it will be after the pending files. Work must not write: where no file is pending, it gets a
 * transaction that only reads.
 */
export async function withRehearsal<T>(work: Work<T>, address: DatabaseAddress = process.env): Promise<T> {
  await assertFiles();
  const { pending } = await withReading(readState, address);
  if (pending.length === 0) return withReading(work, address);
  return rehearse(async (session, manager) => {
    await rehearseFiles(session);
    return work(session, manager);
  }, address);
}

/** Applies all files that are pending, in the transaction of a rehearsal. */
function rehearseFiles(session: Client): Promise<void> {
  return runFiles({
    session,
    direction: 'up',
    isInCallersTransaction: true,
    limits: REHEARSAL_LIMITS,
  });
}

/** Runs work in a transaction that may write, gives way to others, and is rolled back. */
export async function rehearse<T>(work: Work<T>, address: DatabaseAddress = process.env): Promise<T> {
  try {
    return await withReading((watcher) => {
      const watched = watchedBy(watcher, work);
      return withRollback(watched, address);
    }, address);
  } catch (error) {
    throw explained(error);
  }
}

/** The work behind limits and locks, which ends as soon as another session has to wait for it. */
function watchedBy<T>(watcher: Client, work: Work<T>): Work<T> {
  return async (session, manager) => {
    await session.query(REHEARSAL_LIMITS);
    const [processId] = await columnOf<number>(session, 'select pg_backend_pid()');
    if (processId === undefined) throw new Error('PostgreSQL does not tell the id of its process');
    return untilSomebodyWaits({ watcher, processId }, async () => {
      await session.query(LOCK);
      return work(session, manager);
    });
  };
}

interface Watch {
  readonly watcher: Client;
  /** Of the session that others may wait for. */
  readonly processId: number;
}

async function untilSomebodyWaits<T>(watch: Watch, work: () => Promise<T>): Promise<T> {
  const isOver = new AbortController();
  const looking = lookForWaiting(watch, isOver.signal);
  try {
    return await Promise.race([work(), looking]);
  } finally {
    isOver.abort();
    await Promise.allSettled([looking]); // the last look has its answer before the watcher's session ends
  }
}

/** Ends with an error only: then the work has to end. */
async function lookForWaiting({ watcher, processId }: Watch, signal: AbortSignal): Promise<never> {
  const endAtMs = performance.now() + LIMIT_SECONDS * 1_000;
  while (performance.now() < endAtMs) {
    await pause(LOOK_INTERVAL_MS, undefined, { signal });
    const isSomebodyWaiting = await lookOnce(watcher, processId);
    if (isSomebodyWaiting) throw new GaveWay('another session had to wait');
  }
  throw new GaveWay(`it took longer than ${LIMIT_SECONDS} s`);
}

/** Where nobody can look, others might wait unseen, so the rehearsal ends as well. */
async function lookOnce(watcher: Client, processId: number): Promise<boolean> {
  const query = { text: WAITING, values: [processId], query_timeout: LOOK_LIMIT_MS };
  try {
    const { rowCount } = await watcher.query(query);
    return rowCount !== 0;
  } catch (error) {
    throw new GaveWay(`it cannot be seen whether others wait: ${messageOf(error)}`);
  }
}

/** Faults of files, of the input and of the program are those errors themselves. */
function explained(error: unknown): unknown {
  if (error instanceof MigrationFault && error.code === ENUM_VALUE_TOO_NEW) {
    return new AdministrationError(`It cannot be told what callers would see: ${error.message}`);
  }
  const reason = reasonWithoutEnd(error);
  if (reason === undefined) return error;
  return new AdministrationError(
    `The rehearsal came to no end, and nothing was changed: ${reason}. ` +
      'If others write meanwhile, choose a quieter time, or a copy of the database.',
  );
}

/** Why the rehearsal was given up, if that is what the error says. */
function reasonWithoutEnd(error: unknown): string | undefined {
  if (error instanceof GaveWay) return error.message;
  if (error instanceof InterruptedFile || error instanceof LostConnection) return error.reason;
  const isOfPostgres = error instanceof MigrationFault || error instanceof DatabaseError;
  const hasGivenUp = isOfPostgres && GAVE_UP.includes(error.code ?? '');
  return hasGivenUp ? messageOf(error) : undefined;
}
