import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';

/** The settings that close a session, by SQLSTATE. The messages name them in the language of `lc_messages`, if at all. */
const LIMITS: Readonly<Record<string, string>> = {
  '25P03': 'idle_in_transaction_session_timeout',
  '25P04': 'transaction_timeout',
  '57P05': 'idle_session_timeout',
};
/** The function of PostgreSQL that refuses a query whose rows a policy would hide, since `row_security` is off. */
const ROW_SECURITY_ROUTINE = 'check_enable_rls';
/** The message quotes the table, in whatever language: French has « », German » «. */
const QUOTED = /["„“«»]\s?(?<table>\w+)\s?["“”»«]/;

/** What PostgreSQL reported, also where TypeORM has wrapped it. */
export function findDatabaseError(error: unknown): DatabaseError | undefined {
  const reported: unknown = error instanceof QueryFailedError ? error.driverError : error;
  return reported instanceof DatabaseError ? reported : undefined;
}

/**
 * The error, or one that says more: which limit closed the session, or how to mend row level security. That one has no
 * SQLSTATE: who needs it calls findDatabaseError before.
 */
export function explainError(error: unknown): unknown {
  const reported = findDatabaseError(error);
  if (!reported) return error;
  const { code = '', message, routine } = reported;
  const limit = LIMITS[code];
  if (limit !== undefined) return new Error(`${message} (${limit})`);
  if (routine !== ROW_SECURITY_ROUTINE) return error;
  const table = QUOTED.exec(message)?.groups?.['table'] ?? 'TABLE';
  return new Error(`${message}. As the owner: alter table public.${table} disable row level security;`);
}
