import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';
import { messageOf } from '../../telemetry/error-message.js';
import { AdministrationError } from './command.js';

/**
 * SQLSTATEs with which PostgreSQL ends the session (FATAL): connection exceptions, operator intervention, and the two
 * limits of a transaction. The severity would say it, too, but in the language of `lc_messages`.
 */
const ENDS_SESSION = /^(08|57P|25P03|25P04)/;

/** PostgreSQL refused a statement: its transaction is rolled back, and the session goes on. */
export function isRefusal(error: unknown): error is DatabaseError & { readonly code: string } {
  return error instanceof DatabaseError && error.code !== undefined && !hasEndedSession(error);
}

/** PostgreSQL ended the session, so nothing after this was answered. */
export function hasEndedSession(error: unknown): boolean {
  const reported: unknown = error instanceof QueryFailedError ? error.driverError : error;
  return reported instanceof DatabaseError && ENDS_SESSION.test(reported.code ?? '');
}

/** The connection ended in the middle of a transaction, and before its COMMIT. */
export class LostConnection extends AdministrationError {
  readonly reason: string;

  constructor(error: unknown) {
    const reason = messageOf(error);
    super(
      `The connection to the database was lost: ${reason}. Nothing was changed. ` +
        'Run the command again once the database answers.',
    );
    this.reason = reason;
  }
}
