// Runs the statements of `up` or `down` in one transaction, and rolls back. It writes no row in pgmigrations: a trigger
// would then lock the revision of the API keys, and nobody could revoke a key before the dry run ends.
import type { DatabaseAddress } from '../../configuration/database-url.js';
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

/** SQLSTATE unsafe_new_enum_value_usage: a statement uses a new value of an enum before the value is committed. */
const ENUM_VALUE_TOO_NEW = '55P04';
/** The SQLSTATEs of lock_timeout, of statement_timeout, and of a deadlock. */
const LIMITS_AND_DEADLOCK = ['55P03', '57014', '40P01'];

/** Runs the work in a transaction that may write and is rolled back. */
export async function dryRun<T>(database: Database, work: Work<T>, limits?: Partial<Limits>): Promise<T> {
  try {
    return await database.within('dryRun', work, limits);
  } catch (error) {
    throw explainDryRunError(error);
  }
}

/** Runs the pending migrations, then the work, which sees the database as it will be. Rolls both back. */
export function dryRunPending<T>(address: DatabaseAddress, work: (session: Session) => Promise<T>): Promise<T> {
  return withDatabase(
    (database) =>
      dryRun(database, async (session) => {
        const { pending } = await readState(session);
        await tryMigrations(session, pending, 'up');
        return work(session);
      }),
    address,
  );
}

/** Call this only in `dryRun`. Otherwise the migrations stay applied, without rows in pgmigrations. */
export async function tryMigrations(
  session: Session,
  names: readonly string[],
  direction: Direction,
  limits?: Partial<Limits>,
): Promise<void> {
  await assertOwner(session);
  for (const name of names) await runScript(session, toScript(await readMigration(name), direction), limits);
}

/** Call this only in `dryRun`, or the changes stay. An error names the line of the script if PostgreSQL names one. */
export async function runScript(session: Session, script: Script, limits?: Partial<Limits>): Promise<void> {
  // `toStatements` undoes the limits of the dry run by `reset all`, and then sets these two again
  const { statementMs, lockMs } = describeKind('dryRun', limits);
  try {
    for (const statement of toStatements(script, session, { statementMs, lockMs })) await session.query(statement);
  } catch (error) {
    throw explainFault(error, script);
  }
}

/** Explains a lost session, a limit, a deadlock, and the use of a new enum value. Returns other errors unchanged. */
export function explainDryRunError(error: unknown): unknown {
  const isSessionLost = error instanceof InterruptedMigration || error instanceof LostSession;
  if (isSessionLost) return describeUnfinished(error.reason);
  const needsCommit = error instanceof MigrationFault && error.code === ENUM_VALUE_TOO_NEW;
  if (needsCommit) return describeUncommittedValue(error);
  return hasGivenUp(error) ? describeUnfinished(explainLimit(error)) : error;
}

/** Returns the message of a limit or a deadlock, with the remedy. A MigrationFault already has the remedy. */
function explainLimit(error: unknown): string {
  const remedy = error instanceof MigrationFault ? undefined : findServerRemedy(error);
  return remedy === undefined ? toMessage(error) : `${toMessage(error)}. ${remedy}`;
}

/** Returns whether other sessions or a time limit are to blame, and not a migration. */
export function hasGivenUp(error: unknown): boolean {
  const code = error instanceof MigrationFault ? error.code : findRefusal(error)?.code;
  return code !== undefined && LIMITS_AND_DEADLOCK.includes(code);
}

function describeUnfinished(reason: string): OperatorError {
  return new OperatorError(
    `The dry run was not finished, and nothing was changed: ${reason}. ` +
      'Run the command again. If other sessions write meanwhile, choose a quieter time, or a copy of the database.',
  );
}

function describeUncommittedValue(error: MigrationFault): OperatorError {
  return new OperatorError(
    `The dry run cannot show what callers would see: ${error.message}\n` +
      'PostgreSQL lets nobody use a new value of an enum before it is committed, and a dry run commits nothing. ' +
      'If an earlier file adds the value, up can apply both, because it commits each file.',
  );
}
