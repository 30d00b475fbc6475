// How a transaction ends: with an answer, or within a limited time without one.
import type { Client } from 'pg';
import { messageOf } from '../../telemetry/error-message.js';
import { AdministrationError } from './command.js';
import { isRefusal } from './session-end.js';

/**
 * A COMMIT without an answer for this long is given up: its connection is lost, or the server waits for a synchronous
 * standby that is gone. It is more than the 15 s within which the server ends a session whose client it cannot reach
 * (settings.ts), so what people then see in the database no longer changes; and it is less than half a minute, for
 * which people wait.
 */
const COMMIT_LIMIT_MS = 20_000;
const ROLLBACK_LIMIT_MS = 5_000;

/**
 * Errors that PostgreSQL may report after it has written the commit: internal errors, errors of the system, a full
 * disk. Everything else that it reports about COMMIT means that it has rolled back.
 */
const MAY_BE_COMMITTED = /^(XX|58|53100)/;

/**
 * @throws UnknownCommit if it is not known whether the transaction counts. Then the session is of no use any more
 * @throws DatabaseError if PostgreSQL rolled back instead
 */
export async function commit(session: Client): Promise<void> {
  const query = { text: 'commit', query_timeout: COMMIT_LIMIT_MS };
  let answer: string;
  try {
    const { command } = await session.query(query);
    answer = command;
  } catch (error) {
    const isRolledBack = isRefusal(error) && !MAY_BE_COMMITTED.test(error.code);
    throw isRolledBack ? error : new UnknownCommit(error);
  }
  // PostgreSQL answers so, without an error, where a statement of the transaction failed
  if (answer === 'ROLLBACK') throw new Error('PostgreSQL rolled back, since a statement had failed');
}

/**
 * Never fails: where it gets no answer, PostgreSQL rolls back what its session leaves, and the session ends here, since
 * a query after it would wait for that answer.
 */
export async function rollback(session: Client): Promise<void> {
  const query = { text: 'rollback', query_timeout: ROLLBACK_LIMIT_MS };
  try {
    await session.query(query);
  } catch {
    void session.end();
  }
}

/** COMMIT was sent, and no answer says whether the transaction counts. */
export class UnknownCommit extends AdministrationError {
  constructor(error: unknown) {
    super(
      `COMMIT got no answer (${messageOf(error)}): it is not known whether the change counts. ` +
        'The connection was lost, or the server waits for a synchronous standby.',
    );
  }
}
