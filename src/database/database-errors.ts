// The errors of PostgreSQL and of connections that we know: what they mean, and the remedies that people read.
import { DatabaseError } from 'pg';
import { QueryFailedError } from 'typeorm';
import { OperatorError, toMessage } from '../telemetry/error-message.js';

interface Meaning {
  /** True if the server may be reachable soon, because it or its network is starting. A command then tries again. */
  readonly mayBecomeReachable?: true;
  /** The setting whose limit closed the session. PostgreSQL's message does not name it, so `describe` adds it. */
  readonly closingSetting?: string;
  /** The remedy if a session cannot connect, or cannot begin a transaction. */
  readonly connectRemedy?: string;
  /** The remedy if a statement of a command fails. It is not for migrations: there, the code may have another cause. */
  readonly commandRemedy?: string;
  /** The remedy if the state of the server makes a statement fail, in a command or in a migration. */
  readonly serverRemedy?: string;
}

const START_SERVER = 'Start the server, or correct host and port in the connection string.';
const UNKNOWN_CA: Meaning = {
  connectRemedy:
    "The CA of the server's certificate is not known here: add sslrootcert=FILE to the connection string, with the file of the CA.",
};
const WRONG_TIME: Meaning = {
  connectRemedy:
    "Renew the server's certificate. If its dates are right, the clock of this machine is wrong: correct it.",
};
const UNREACHABLE: Meaning = { mayBecomeReachable: true, connectRemedy: START_SERVER };
const CHECK_CONNECTION = 'Check the connection string, and that the server runs.';
const STANDBY =
  'This server is a hot standby, which takes no changes: name the primary in the connection string. If even reading ' +
  'fails, the default isolation of the role is serializable, which a standby refuses. Change it on the primary: ' +
  "alter role ROLE in database DATABASE set default_transaction_isolation = 'read committed';";
/** Lists the sessions that have a lock on a table or wait for it, except the session that runs the query. */
const SHOW_LOCKS =
  'select granted, pid, usename, application_name, state, xact_start, relation::regclass, mode from pg_locks ' +
  "join pg_stat_activity using (pid) where locktype = 'relation' and pid <> pg_backend_pid()";

/** The keys are SQLSTATEs and the codes of Node.js. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  ECONNREFUSED: UNREACHABLE,
  ECONNRESET: UNREACHABLE,
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  EAI_AGAIN: UNREACHABLE,
  ENOTFOUND: { connectRemedy: START_SERVER },
  ETIMEDOUT: { connectRemedy: START_SERVER },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    connectRemedy: 'Write the host in the connection string as its certificate names it.',
  },
  CERT_HAS_EXPIRED: WRONG_TIME,
  CERT_NOT_YET_VALID: WRONG_TIME,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_CA,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_CA,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_CA,
  // cannot_connect_now: the server starts, stops or recovers
  '57P03': { mayBecomeReachable: true },
  // feature_not_supported: while a transaction begins, PostgreSQL says this only on a hot standby
  '0A000': { connectRemedy: STANDBY },
  // read_only_sql_transaction: our own settings allow writing, so the server must be a hot standby
  '25006': { serverRemedy: STANDBY },
  // invalid_password
  '28P01': { connectRemedy: 'Correct role and password in the connection string, or set the password.' },
  // invalid_authorization_specification
  '28000': {
    connectRemedy:
      'Create the role, allow it to log in (alter role ROLE login), allow this address in pg_hba.conf, ' +
      'or add sslmode=verify-full if TLS is required.',
  },
  // invalid_catalog_name
  '3D000': {
    connectRemedy:
      "Correct the database in the connection string, or create it: create database DATABASE encoding 'UTF8' template template0;",
  },
  // too_many_connections
  '53300': { connectRemedy: 'End connections (table pg_stat_activity), or raise the limit that was reached.' },
  // insufficient_privilege
  '42501': {
    connectRemedy: 'Allow the role to connect: grant connect on database DATABASE to ROLE;',
    commandRemedy: 'Name a role that may do this in the connection string, such as order_lookup_owner.',
  },
  // check_violation: except in migrations, only the client of an API key can violate a constraint
  '23514': { commandRemedy: 'Shorten the text, or remove spaces around it and characters that nobody sees.' },
  // undefined_table
  '42P01': {
    commandRemedy: 'Apply the migrations first: npm run migrate -- up, or in the image node dist/migrate.js up',
  },
  // lock_not_available
  '55P03': { serverRemedy: `Another session holds a lock. Wait, or find it and end it: ${SHOW_LOCKS}` },
  // With these codes PostgreSQL closes a session that reached a limit
  '25P03': { closingSetting: 'idle_in_transaction_session_timeout' },
  '25P04': { closingSetting: 'transaction_timeout' },
  '57P05': { closingSetting: 'idle_session_timeout' },
};

/**
 * The SQLSTATEs with which PostgreSQL closes the session: class 08 (connection exceptions), 57P (57P01 at a shutdown,
 * 57P05), 25P03 and 25P04. We do not use the severity FATAL, because pg has it only in the server's language.
 */
const CLOSES_SESSION = /^(08|57P|25P03|25P04)/;
/** Class 28, invalid authorization: PostgreSQL refuses the role, the password or the address. */
const REFUSES_LOGIN = /^28/;

/** The database refused a login or a transaction, or could not be reached. No work has begun. */
export class UnusableDatabase extends OperatorError {
  /** @param subject the database, such as `database orders at db.example:5432` */
  constructor(subject: string, error: unknown) {
    const { connectRemedy = CHECK_CONNECTION } = findMeaning(error);
    super(`The ${subject} cannot be used: ${describe(error)}. ${connectRemedy}`);
  }
}

/** The session was lost during a transaction, before COMMIT was sent. */
export class LostSession extends OperatorError {
  constructor(readonly reason: string) {
    super(`The connection to the database was lost: ${reason}. Nothing was changed.`);
  }
}

/** COMMIT was sent, and no answer came. */
export class UnknownOutcome extends OperatorError {
  constructor(error: unknown) {
    super(
      `COMMIT got no answer (${describe(error)}). So nobody knows whether the change was made. ` +
        'Look at the database before you make the change again.',
    );
  }
}

export type Refusal = DatabaseError & { readonly code: string };

/** Returns the error if PostgreSQL refused a statement, and left the session open. The transaction has then failed. */
export function findRefusal(error: unknown): Refusal | undefined {
  const found = findDatabaseError(error);
  return found && !CLOSES_SESSION.test(found.code) ? found : undefined;
}

export function hasClosedSession(error: unknown): boolean {
  return CLOSES_SESSION.test(findDatabaseError(error)?.code ?? '');
}

export function isLoginRefused(error: unknown): boolean {
  return REFUSES_LOGIN.test(findDatabaseError(error)?.code ?? '');
}

export function mayBecomeReachable(error: unknown): boolean {
  return findMeaning(error).mayBecomeReachable === true;
}

/** Returns the message of the error. If a limit closed the session, the text also names the setting. */
export function describe(error: unknown): string {
  const { closingSetting } = findMeaning(error);
  return closingSetting === undefined ? toMessage(error) : `${toMessage(error)} (${closingSetting})`;
}

/** Returns the remedy for the user of a command; undefined if none is known, or if the message already has one. */
export function findRemedy(error: unknown): string | undefined {
  // LostSession's own message does not speak of a command, because the service logs the same message
  if (error instanceof LostSession) return 'Run the command again once the database answers.';
  if (error instanceof OperatorError) return undefined;
  const { commandRemedy, serverRemedy } = findMeaning(error);
  return commandRemedy ?? serverRemedy;
}

/** Returns the remedy if the state of the server is to blame, such as a lock of another session. */
export function findServerRemedy(error: unknown): string | undefined {
  return findMeaning(error).serverRemedy;
}

/** Returns PostgreSQL's error, also if TypeORM has wrapped it. */
function findDatabaseError(error: unknown): Refusal | undefined {
  const reported: unknown = error instanceof QueryFailedError ? error.driverError : error;
  return reported instanceof DatabaseError && reported.code !== undefined ? (reported as Refusal) : undefined;
}

function findMeaning(error: unknown): Meaning {
  const { code = '' } = error as { readonly code?: string }; // TypeORM copies PostgreSQL's code into its own errors
  return MEANINGS[code] ?? {};
}
