import { DatabaseError } from 'pg';
import { explainError, findDatabaseError } from '../../database/explain-error.js';
import { toMessage } from '../../telemetry/error-message.js';
import { CliError } from './program.js';

/**
 * SQLSTATEs with which PostgreSQL closes the session (FATAL): connection exceptions, operator intervention, and the
 * limits of a session. The severity would say it, too, but in the language of `lc_messages`.
 */
const CLOSES_SESSION = /^(08|57P|25P03|25P04)/;

/** PostgreSQL refused a statement: its transaction is rolled back, and the session goes on. */
export function isRefusal(error: unknown): error is DatabaseError & { readonly code: string } {
  return error instanceof DatabaseError && error.code !== undefined && !hasEndedSession(error);
}

/** PostgreSQL closed the session, so nothing after this was answered. */
export function hasEndedSession(error: unknown): boolean {
  return CLOSES_SESSION.test(findDatabaseError(error)?.code ?? '');
}

/** The connection was lost in the middle of a transaction, and before its COMMIT. */
export class LostConnection extends CliError {
  readonly reason: string;

  constructor(error: unknown) {
    const reason = toMessage(explainError(error));
    super(
      `The connection to the database was lost: ${reason}. Nothing was changed. ` +
        'Run the command again once the database answers.',
    );
    this.reason = reason;
  }
}
