import { type Client, DatabaseError } from 'pg';
import { messageOf } from '../../telemetry/error-message.js';
import { AdministrationError } from './command.js';

/**
 * A COMMIT without an answer for this long is given up: its connection is lost, or the server waits for a synchronous
 * standby that is gone. The server itself ends a session that it has not heard from for 10 s.
 */
const COMMIT_LIMIT_MS = 20_000;

/** @throws UnknownCommit if it got no answer. Then the session is of no use any more. */
export async function commit(session: Client): Promise<void> {
  const query = { text: 'commit', query_timeout: COMMIT_LIMIT_MS };
  try {
    await session.query(query);
  } catch (error) {
    throw isRefusal(error) ? error : new UnknownCommit(error);
  }
}

/** Nobody knows whether the transaction counts. */
export class UnknownCommit extends AdministrationError {
  constructor(error: unknown) {
    super(
      `COMMIT got no answer (${messageOf(error)}): it is not known whether the change counts. ` +
        'The connection was lost, or the server waits for a synchronous standby.',
    );
  }
}

/** PostgreSQL answered, and rolls back. Where it ended the session instead (FATAL), it is as if it had not answered. */
export function isRefusal(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.severity === 'ERROR';
}
