// Runs migrations in one transaction that is rolled back. The statements are those of `up` and `down`. The row in
// pgmigrations is not written, so only tables that a migration touches are locked, and a key can be revoked meanwhile.
import { type Database, type Work } from '../../database/database.js';
import { LostSession, findRefusal, findServerRemedy } from '../../database/database-errors.js';
import type { Session } from '../../database/session.js';
import { type Limits, describeKind } from '../../database/transactions.js';
import { OperatorError, toMessage } from '../../telemetry/error-message.js';
import { withDatabase } from '../cli/connection.js';
import { InterruptedMigration, MigrationFault, type Script, explainFault } from './migration-fault.js';
import { type Direction, readMigration } from './migration-files.js';
import { assertOwner } from './migration-owner.js';
import { readState } from './migration-state.js';
import { toScript, toStatements } from './run-migrations.js';

/** SQLSTATE unsafe_new_enum_value_usage: a new value of an enum is used before it is committed. */
const ENUM_VALUE_TOO_NEW = '55P04';
/** The SQLSTATEs of the limits and of a deadlock. */
const GAVE_UP = ['55P03', '57014', '40P01'];

/** Works in a transaction that may write, and is rolled back. */
export async function dryRun<T>(database: Database, work: Work<T>, limits?: Partial<Limits>): Promise<T> {
  try {
    return await database.within('dryRun', work, limits);
  } catch (error) {
    throw explain(error);
  }
}

/** Runs the pending migrations first, so that the work sees the database as it will be. */
export function dryRunPending<T>(work: (session: Session) => Promise<T>): Promise<T> {
  return withDatabase((database) =>
    dryRun(database, async (session) => {
      const { pending } = await readState(session);
      await tryMigrations(session, pending, 'up');
      return work(session);
    }),
  );
}

export async function tryMigrations(
  session: Session,
  names: readonly string[],
  direction: Direction,
  limits?: Partial<Limits>,
): Promise<void> {
  await assertOwner(session);
  for (const name of names) await runScript(session, toScript(await readMigration(name), direction), limits);
}

/** @throws OperatorError with the line of the script if PostgreSQL names one */
export async function runScript(session: Session, script: Script, limits?: Partial<Limits>): Promise<void> {
  const { statementMs, lockMs } = describeKind('dryRun', limits);
  try {
    for (const statement of toStatements(script, session, { statementMs, lockMs })) await session.query(statement);
  } catch (error) {
    throw explainFault(error, script);
  }
}

/** Returns the error as people read it. Faults of migrations and of the input are passed on unchanged. */
export function explain(error: unknown): unknown {
  if (error instanceof InterruptedMigration || error instanceof LostSession) return describeNoEnd(error.reason);
  if (error instanceof MigrationFault && error.code === ENUM_VALUE_TOO_NEW) {
    return new OperatorError(`Nobody can say yet what callers would see: ${toMessage(error)}`);
  }
  if (!hasGivenUp(error)) return error;
  const remedy = error instanceof MigrationFault ? undefined : findServerRemedy(error); // a fault says it itself
  return describeNoEnd([toMessage(error), remedy].filter((part) => part !== undefined).join('. '));
}

/** Returns whether other sessions or a time limit are to blame, and not a migration. */
export function hasGivenUp(error: unknown): boolean {
  const code = error instanceof MigrationFault ? error.code : findRefusal(error)?.code;
  return code !== undefined && GAVE_UP.includes(code);
}

function describeNoEnd(reason: string): OperatorError {
  return new OperatorError(
    `The dry run did not end, and nothing was changed: ${reason}. ` +
      'Run the command again. If others write meanwhile, choose a quieter time, or a copy of the database.',
  );
}
