// Runs work in one transaction that is never committed, as `plan` and `down` need it to see what files would do.
//
// The tables of codes and keys are locked first, so what others change in them never appears in the work. A rehearsal
// ends within 20 s, and leaves no lock.
import { setTimeout as pause } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import type { DatabaseAddress } from '../../configuration/database-url.js';
import { messageOf } from '../../telemetry/error-message.js';
import type { Session } from '../../database/session.js';
import { CliError } from '../cli/program.js';
import { LostConnection } from '../cli/session-end.js';
import { type Work, withReading, withRollback } from '../cli/transaction.js';
import { InterruptedFile, MigrationFault } from './migration-fault.js';
import { assertFiles, readState } from './migration-state.js';
import { runFiles } from './run-migrations.js';

const LIMIT_SECONDS = 20;

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

/** SQLSTATE unsafe_new_enum_value_usage: a new value of an enum is used before it is committed. */
const ENUM_VALUE_TOO_NEW = '55P04';
/** SQLSTATEs of REHEARSAL_LIMITS and of a deadlock: the cause is others or the time, and not a statement. */
const GAVE_UP = ['55P03', '57014', '40P01'];

class TookTooLong extends Error {
  constructor() {
    super(`it took longer than ${LIMIT_SECONDS} s`);
  }
}

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
export function rehearseFiles(session: Session): Promise<void> {
  return runFiles({
    session,
    direction: 'up',
    isInCallersTransaction: true,
    limits: REHEARSAL_LIMITS,
  });
}

/** Runs work in a transaction that may write, and is rolled back. */
export async function rehearse<T>(work: Work<T>, address: DatabaseAddress = process.env): Promise<T> {
  try {
    return await withRollback(
      (session, manager) =>
        withinLimit(async () => {
          await session.query(REHEARSAL_LIMITS);
          await session.query(LOCK);
          return work(session, manager);
        }),
      address,
    );
  } catch (error) {
    throw explained(error);
  }
}

async function withinLimit<T>(work: () => Promise<T>): Promise<T> {
  const isOver = new AbortController();
  const limit = pause(LIMIT_SECONDS * 1_000, undefined, { signal: isOver.signal });
  const tooLong = limit.then(() => {
    throw new TookTooLong();
  });
  try {
    return await Promise.race([work(), tooLong]);
  } finally {
    isOver.abort();
    await Promise.allSettled([tooLong]);
  }
}

/** Faults of files, of the input and of the program are those errors themselves. */
function explained(error: unknown): unknown {
  if (error instanceof MigrationFault && error.code === ENUM_VALUE_TOO_NEW) {
    return new CliError(`It cannot be told what callers would see: ${error.message}`);
  }
  const reason = reasonWithoutEnd(error);
  if (reason === undefined) return error;
  return new CliError(
    `The rehearsal came to no end, and nothing was changed: ${reason}. ` +
      'If others write meanwhile, choose a quieter time, or a copy of the database.',
  );
}

/** Why the rehearsal was given up, if that is what the error says. */
function reasonWithoutEnd(error: unknown): string | undefined {
  if (error instanceof TookTooLong) return error.message;
  if (error instanceof InterruptedFile || error instanceof LostConnection) return error.reason;
  const isOfPostgres = error instanceof MigrationFault || error instanceof DatabaseError;
  const hasGivenUp = isOfPostgres && GAVE_UP.includes(error.code ?? '');
  return hasGivenUp ? messageOf(error) : undefined;
}
