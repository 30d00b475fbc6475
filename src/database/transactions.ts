// The kinds of transaction, each with all its limits and settings. They override what the role, the database or the
// connection string sets.
import { escapeLiteral } from 'pg';

/**
 * The settings that results depend on. They are set for one transaction only: behind a pooler, the session belongs to
 * another client afterwards.
 *
 * PostgreSQL searches pg_catalog first, because search_path does not name it. If search_path named it first, migrations
 * would create their tables there. But if only a function or operator in `public`
 * has exactly the types of the arguments, PostgreSQL uses that one. So somebody could have our code call theirs:
 *
 * - Write the schema in front of a function that takes any type, such as `pg_catalog.format`.
 * - Cast a regclass to oid before you compare. PostgreSQL itself has no `=` for oid and regclass.
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
 * Makes PostgreSQL read a whole table in the order of an index. Sorting 20,000 codes took three times as long, and four
 * times as long in a table that was never analyzed (2026-11-29). JIT would compile each of these short queries.
 */
const INDEX_SETTINGS = ['set local jit = off', 'set local enable_seqscan = off', 'set local enable_sort = off'];

/**
 * Returns a statement that lets PostgreSQL notice a closed connection during a query. Some operating systems cannot
 * notice it. PostgreSQL refuses the setting there, and the refusal is ignored.
 */
function connectionCheckText(set: 'set' | 'set local'): string {
  return `do $$ begin
    ${set} client_connection_check_interval = '100ms';
  exception when others then null; end $$`;
}

/**
 * Other sessions wait for the locks of a transaction that writes. If its client is gone, PostgreSQL ends it within
 * 15 s: by `idle_in_transaction_session_timeout` between two statements, and by keep-alive packets during a statement.
 */
const ABANDONED_SETTINGS = [
  'set local tcp_keepalives_idle = 5',
  'set local tcp_keepalives_interval = 5',
  'set local tcp_keepalives_count = 2',
  `set local tcp_user_timeout = '15s'`,
  connectionCheckText('set local'),
];

/** The limits of a transaction in milliseconds; 0 means no limit. */
export interface Limits {
  readonly statementMs: number;
  readonly lockMs: number;
  /** The longest pause between two statements. */
  readonly idleMs: number;
  /** The limit of the whole transaction. A timer of this process ends it: PostgreSQL 14 to 16 have no such limit. */
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
  rowSecurity: 'on', // with `off`, a migration could not write into a table that has a policy
  idleMs: 10_000,
  totalMs: 0,
  ending: 'commit',
} as const;

const CHANGE = { ...WRITING, statementMs: 0, lockMs: 30_000, settings: ABANDONED_SETTINGS } as const;

const KINDS = {
  /**
   * The service asks whether codes or keys have changed, or reads them. lockMs is lower than statementMs, so that
   * PostgreSQL's message names the lock. If you raise statementMs, raise SERVICE.answerMs, too.
   */
  poll: { ...READING, statementMs: 2_000, lockMs: 1_000, settings: INDEX_SETTINGS },
  /**
   * The service notes the last use of keys. The limits are short, because another session may lock that table for
   * hours, and a lost note does no harm.
   */
  note: { ...WRITING, statementMs: 1_000, lockMs: 1_000, settings: [] },
  /** A command reads. There is no limit for a statement, because one over a long change history takes minutes. */
  read: { ...READING, statementMs: 0, lockMs: 10_000, idleMs: 60_000, settings: [] },
  /** A command writes. */
  write: CHANGE,
  /** node-pg-migrate begins and ends this transaction, and runs one migration in it. */
  migration: CHANGE,
  /** A command tries migrations. The isolation is that of `migration`, so each statement does the same as in `up`. */
  dryRun: { ...CHANGE, statementMs: 20_000, lockMs: 3_000, totalMs: 20_000, ending: 'rollback' },
} as const satisfies Record<string, TransactionKind>;

export type Kind = keyof typeof KINDS;

/** Returns the kind, with the given limits instead of its own. */
export function describeKind(kind: Kind, limits: Partial<Limits> = {}): TransactionKind {
  return { ...KINDS[kind], ...limits };
}

/**
 * Returns the statements that begin a transaction. Those of a reading must not take a snapshot, as a `do` block
 * would: `lockTables` has to come before the snapshot.
 */
export function beginText(kind: Kind, serverVersion: number, limits?: Partial<Limits>): string {
  const { isolation, access } = KINDS[kind];
  const begin = `begin isolation level ${isolation}, ${access}, not deferrable`;
  return `${begin}; ${settingsText(kind, serverVersion, limits)}`;
}

/** Returns only the settings, for a transaction that node-pg-migrate has begun. */
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

/** Returns the setting from which the triggers of the change history read the person at the keyboard. */
function personSettings(): string[] {
  const person = process.env['ORDER_LOOKUP_PERSON'] ?? '';
  return person === '' ? [] : [`set local order_lookup.person = ${escapeLiteral(person)}`];
}

/**
 * Lets a member of the owning role work as this role. Otherwise new tables would belong to the member, and the owner
 * could not change them. `assertOwner` has checked that the member may set the role.
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
 * The search path for statements that name the schema of each table, as node-pg-migrate does. If it had `public`, an
 * operator that somebody created there could run as the owner: PostgreSQL itself has no `=` for two varchars.
 */
const CATALOG_PATH = 'search_path = pg_catalog, pg_temp';
export const SET_CATALOG_PATH = `set local ${CATALOG_PATH}`;

/** Each migration starts with these settings, whatever the role, the database or an earlier migration has set. */
export const MIGRATION_SESSION = [
  'reset session authorization',
  'reset role',
  'reset all',
  `set ${CATALOG_PATH}`,
  SET_OWNER,
  `set default_transaction_isolation = 'read committed'`,
  'set default_transaction_read_only = off',
  'set default_transaction_deferrable = off',
].join('; ');

/**
 * The settings of a session that runs migrations. They are for the session, because node-pg-migrate waits for its
 * advisory lock outside of a transaction. MIGRATION_SESSION comes first, because `reset all` would undo the others.
 */
export const RUNNER_SESSION = [
  MIGRATION_SESSION,
  'set statement_timeout = 0',
  `set lock_timeout = '120s'`,
  connectionCheckText('set'),
].join('; ');
