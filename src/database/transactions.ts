// The kinds of transaction, each with all its limits and settings. What the role, the database or the connection string
// sets does not matter.
import { escapeLiteral } from 'pg';

/**
 * The settings that results depend on. They are set for one transaction only: behind a pooler, the session belongs to
 * another client afterwards.
 *
 * PostgreSQL searches pg_catalog before `public`, because the list does not name pg_catalog. If the list named it
 * first, each migration would create its tables there. A function or operator in `public` whose argument types fit
 * exactly still wins over one of pg_catalog. Call functions that take any type with their schema. Cast to oid before
 * you compare: for an oid and a regclass, `=` fits exactly only if somebody created it in `public`.
 */
const RESULT_SETTINGS = [
  'set local search_path = public, pg_temp',
  `set local timezone = 'UTC'`,
  `set local datestyle = 'ISO, MDY'`,
  `set local intervalstyle = 'postgres'`,
  `set local bytea_output = 'hex'`,
  'set local extra_float_digits = 1',
  'set local standard_conforming_strings = on',
  'set local quote_all_identifiers = off',
];

/**
 * Makes PostgreSQL read whole tables by their indexes. Without these settings, a table that was never analyzed would be
 * read slowly.
 */
const INDEX_SETTINGS = ['set local jit = off', 'set local enable_seqscan = off', 'set local enable_sort = off'];

/** Not every platform can notice a closed connection. PostgreSQL refuses the setting on the others. */
function checkConnection(set: 'set' | 'set local'): string {
  return `do $$ begin
    ${set} client_connection_check_interval = '100ms';
  exception when others then null; end $$`;
}

/**
 * Other sessions wait for a session that writes. If its client is gone, PostgreSQL ends the session within 15 s: by
 * `idle_in_transaction_session_timeout` between two statements, and by keep-alive packets during a statement.
 */
const ABANDONED_SETTINGS = [
  'set local tcp_keepalives_idle = 5',
  'set local tcp_keepalives_interval = 5',
  'set local tcp_keepalives_count = 2',
  `set local tcp_user_timeout = '15s'`,
  checkConnection('set local'),
];

/** The limits of a transaction in milliseconds; 0 means no limit. */
export interface Limits {
  readonly statementMs: number;
  readonly lockMs: number;
  /** The longest pause between two statements. */
  readonly idleMs: number;
  /** The limit of the whole transaction. A timer of this process ends it: PostgreSQL has no such limit before 17. */
  readonly totalMs: number;
}

interface TransactionKind extends Limits {
  readonly isolation: 'repeatable read' | 'read committed';
  readonly access: 'read only' | 'read write';
  /** If a policy would hide rows, a query fails with `off`. With `on` it returns the other rows, as in psql. */
  readonly rowSecurity: 'on' | 'off';
  readonly settings: readonly string[];
  readonly ending: 'commit' | 'rollback';
}

const READING = {
  isolation: 'repeatable read',
  access: 'read only',
  rowSecurity: 'off',
  idleMs: 10_000,
  totalMs: 0,
  ending: 'commit',
} as const;

const WRITING = {
  isolation: 'read committed',
  access: 'read write',
  rowSecurity: 'on', // `off` would refuse what a migration writes into a table that has a policy
  idleMs: 10_000,
  totalMs: 0,
  ending: 'commit',
} as const;

const CHANGE = { ...WRITING, statementMs: 0, lockMs: 30_000, settings: ABANDONED_SETTINGS } as const;

const KINDS = {
  /**
   * The service asks for the revision, or reads a topic. The limit of a lock is below that of a statement, so that
   * PostgreSQL's message names the lock. If you raise statementMs, raise SERVICE.answerMs, too.
   */
  poll: { ...READING, statementMs: 2_000, lockMs: 1_000, settings: INDEX_SETTINGS },
  /** The service notes the last use of keys. Another session may lock that table for hours. */
  note: { ...WRITING, statementMs: 1_000, lockMs: 1_000, settings: [] },
  /** A command reads. Over a long change history a statement takes minutes. */
  read: { ...READING, statementMs: 0, lockMs: 10_000, idleMs: 60_000, settings: [] },
  /** A command writes. */
  write: CHANGE,
  /** node-pg-migrate begins and ends this transaction, and runs one migration in it. */
  migration: CHANGE,
  /** Migrations are tried. They have the isolation of `migration`, so that the same statements do the same. */
  dryRun: { ...CHANGE, statementMs: 20_000, lockMs: 3_000, totalMs: 20_000, ending: 'rollback' },
} as const satisfies Record<string, TransactionKind>;

export type Kind = keyof typeof KINDS;

/** Returns the kind, with the caller's limits in place of its own. */
export function describeKind(kind: Kind, limits: Partial<Limits> = {}): TransactionKind {
  return { ...KINDS[kind], ...limits };
}

/**
 * Returns the statements that begin a transaction. Those of a reading take no snapshot. So its tables can be locked
 * first: to a snapshot from before a TRUNCATE a table would look empty.
 */
export function beginText(kind: Kind, serverVersion: number, limits?: Partial<Limits>): string {
  const { isolation, access } = KINDS[kind];
  const begin = `begin isolation level ${isolation}, ${access}, not deferrable`;
  return `${begin}; ${settingsText(kind, serverVersion, limits)}`;
}

/** Returns the settings alone, for a transaction that node-pg-migrate has begun. */
export function settingsText(kind: Kind, serverVersion: number, limits?: Partial<Limits>): string {
  const { access, statementMs, lockMs, idleMs, rowSecurity, settings } = describeKind(kind, limits);
  const hasTransactionTimeout = serverVersion >= 17; // older versions refuse the setting
  return [
    ...RESULT_SETTINGS,
    `set local statement_timeout = ${statementMs}`,
    `set local lock_timeout = ${lockMs}`,
    `set local idle_in_transaction_session_timeout = ${idleMs}`,
    ...(hasTransactionTimeout ? ['set local transaction_timeout = 0'] : []),
    `set local row_security = ${rowSecurity}`,
    ...settings,
    ...(access === 'read write' ? personSettings() : []),
  ].join('; ');
}

/** Names the person at the keyboard to the triggers of the change history. */
function personSettings(): string[] {
  const person = process.env['ORDER_LOOKUP_PERSON'] ?? '';
  return person === '' ? [] : [`set local order_lookup.person = ${escapeLiteral(person)}`];
}

/**
 * A member of the owner works as the owner: otherwise new tables would belong to the member, and the owner could not
 * change them. `assertOwner` has checked that the role may do this.
 */
const SET_OWNER = `do $$ declare owner name; begin
  select coalesce(
    (select pg_get_userbyid(relowner) from pg_class where oid = to_regclass('public.pgmigrations')),
    (select rolname from pg_roles where rolname = 'order_lookup_owner'),
    current_user
  ) into owner;
  execute format('set role %I', owner);
end $$`;

/**
 * The search path for statements that name the schema of each table, such as those of node-pg-migrate. With `public`
 * in the path, an operator that somebody created there could run as the owner: `=` of two varchars fits exactly only
 * there.
 */
const OWN_PATH = 'search_path = pg_catalog, pg_temp';
export const RUNNER_PATH = `set local ${OWN_PATH}`;

/** Each migration starts with these settings, whatever the role, the database or an earlier migration has set. */
export const MIGRATION_SESSION = [
  'reset session authorization',
  'reset role',
  'reset all',
  `set ${OWN_PATH}`,
  SET_OWNER,
  `set default_transaction_isolation = 'read committed'`,
  'set default_transaction_read_only = off',
  'set default_transaction_deferrable = off',
].join('; ');

/**
 * The settings of a session that runs migrations. node-pg-migrate waits for its advisory lock outside of a transaction.
 * MIGRATION_SESSION comes first, because `reset all` would undo the others.
 */
export const RUNNER_SESSION = [
  MIGRATION_SESSION,
  'set statement_timeout = 0',
  `set lock_timeout = '120s'`,
  checkConnection('set'),
].join('; ');
