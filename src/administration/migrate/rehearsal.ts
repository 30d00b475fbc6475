// Runs work in one transaction that is never committed, as `plan` and `down` need it to see what files would do.
//
// The tables are locked first, so changes of others never appear in it. No session waits for it longer than a second:
// it ends as soon as another session sees one wait for half a second. It ends within 20 s, and leaves no lock.
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import type { DatabaseAddress } from '../../configuration/database-url.js';
import { messageOf } from '../../telemetry/error-message.js';
import { AdministrationError } from '../frame/command.js';
import { columnOf } from '../frame/column-of.js';
import { type Work, withReading, withRollback } from '../frame/connect.js';
import { InterruptedFile, MigrationFault } from './migration-fault.js';
import { assertFiles, readState } from './migration-state.js';
import { runFiles } from './run-migrations.js';

const LIMIT_SECONDS = 20;
const LOOK_INTERVAL_MS = 50;
const LOOK_LIMIT_MS = 5_000;

/**
 * The server ends what the client does not reach: a lost connection, a statement that never ends. A lock is waited for
 * longer than `deadlock_timeout` (1 s), after which autovacuum gives way. Who waits behind us is looked for meanwhile.
 */
export const REHEARSAL_LIMITS = [
  `set local lock_timeout = '3s'`,
  `set local statement_timeout = '${LIMIT_SECONDS}s'`,
  `set local idle_in_transaction_session_timeout = '1s'`,
].join('; ');

/** In an empty database there is nothing to lock yet. */
const LOCK = `do $$ begin
  lock table public.code_list, public.code_list_value, public.area_property, public.communication_code, public.api_key
    in share row exclusive mode;
exception when undefined_table then null; end $$`;

const WAITING = `select from pg_locks where not granted and $1 = any (pg_blocking_pids(pid))
  and clock_timestamp() - waitstart > interval '500 ms' limit 1`;

/** SQLSTATE unsafe_new_enum_value_usage: a new value of an enum is used before it is committed. */
const ENUM_VALUE_TOO_NEW = '55P04';

/**
 * Runs work on the database as it will be after the pending files, and takes everything back. Where no file is pending,
 * the work only reads.
 */
export async function withRehearsal<T>(
  work: Work<T>,
  address: DatabaseAddress = process.env,
): Promise<T> {
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
export async function rehearse<T>(
  work: Work<T>,
  address: DatabaseAddress = process.env,
): Promise<T> {
  try {
    return await withReading(
      (watcher) =>
        withRollback(async (session, manager) => {
          await session.query(REHEARSAL_LIMITS);
          const [processId = 0] = await columnOf<number>(session, 'select pg_backend_pid()');
          return untilSomebodyWaits({ watcher, processId }, async () => {
            await session.query(LOCK);
            return work(session, manager);
          });
        }, address),
      address,
    );
  } catch (error) {
    throw sentenceOf(error);
  }
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
  const query = { text: WAITING, values: [processId], query_timeout: LOOK_LIMIT_MS };
  const endAtMs = performance.now() + LIMIT_SECONDS * 1_000;
  while (performance.now() < endAtMs) {
    await pause(LOOK_INTERVAL_MS, undefined, { signal });
    const { rowCount } = await watcher.query(query);
    if (rowCount !== 0) throw new Error('another session had to wait');
  }
  throw new Error(`it took longer than ${LIMIT_SECONDS} s`);
}

function sentenceOf(error: unknown): unknown {
  if (error instanceof MigrationFault && error.code === ENUM_VALUE_TOO_NEW) {
    return new AdministrationError(`It cannot be told what callers would see: ${error.message}`);
  }
  const isExplained = error instanceof AdministrationError && !(error instanceof InterruptedFile);
  if (isExplained) return error;
  return new AdministrationError(
    `The rehearsal came to no end, and nothing was changed: ${messageOf(error)}. ` +
      'If others write meanwhile, choose a quieter time, or a copy of the database.',
  );
}
