// The kinds of transaction, each with its limits and settings. They override the settings of the role, of the database
// and of the connection string.
import { escapeLiteral } from 'pg';

/** The settings that results depend on. They are `local`, because a pooler later gives the session to other clients. */
const RESULT_SETTINGS = [
  // DANGER: write `pg_catalog.` before functions that take any type (`format`, `unnest`), and cast regclass to oid.
  // Otherwise our SQL may call what somebody has created in `public` (docs/decisions.md#the-search-path)
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
 * The settings for reading in the order of an index. It took three times as long to read 20,000 codes and then to sort
 * them (2026-11-29). With JIT, PostgreSQL would compile each of these short queries.
 */
const INDEX_SETTINGS = ['set local jit = off', 'set local enable_seqscan = off', 'set local enable_sort = off'];

/**
 * Returns a statement that makes PostgreSQL notice during a query that its client is gone. Some operating systems do
 * not support the setting, so the statement ignores errors.
 */
function formatConnectionCheck(command: 'set' | 'set local'): string {
  return `do $$ begin
    ${command} client_connection_check_interval = '100ms';
  exception when others then null; end $$`;
}

/**
 * The settings with which PostgreSQL ends a statement within 15 s (5 + 2 × 5) if its client is gone. Otherwise, other
 * sessions would wait for the locks of such a statement. Between two statements, `idleMs` ends the transaction.
 */
const GONE_CLIENT_SETTINGS = [
  'set local tcp_keepalives_idle = 5',
  'set local tcp_keepalives_interval = 5',
  'set local tcp_keepalives_count = 2',
  `set local tcp_user_timeout = '15s'`,
  formatConnectionCheck('set local'),
];

/** The limits of a transaction in milliseconds; 0 means no limit. */
export interface Limits {
  readonly statementMs: number;
  readonly lockMs: number;
  /** The longest pause between two statements. */
  readonly idleMs: number;
  /**
   * The limit of the whole transaction. This process measures it, because PostgreSQL 14 to 16 have no such limit. After
   * this time, the error LostSession says "Nothing was changed." So set a limit only for work that reads or rolls back.
   */
  readonly totalMs: number;
}

interface TransactionKind extends Limits {
  readonly isolation: 'repeatable read' | 'read committed';
  readonly access: 'read only' | 'read write';
  /** With `off`, a query fails if a policy would hide rows. With `on`, it returns the rows that the policy shows. */
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

const CHANGE = { ...WRITING, statementMs: 0, lockMs: 30_000, settings: GONE_CLIENT_SETTINGS } as const;

const KINDS = {
  /**
   * The service asks whether codes or keys have changed, or reads them. lockMs is lower than statementMs, so that
   * PostgreSQL's message names the lock. If you raise statementMs, raise queryTimeoutMs of SERVICE_USE, too.
   */
  poll: { ...READING, statementMs: 2_000, lockMs: 1_000, settings: INDEX_SETTINGS },
  /**
   * The service writes when each key was last used. The limits are short, because another session may lock the table
   * for hours, and a missing time of use does no harm.
   */
  note: { ...WRITING, statementMs: 1_000, lockMs: 1_000, settings: [] },
  /** A command reads. Statements have no limit, because a query of a long change history takes minutes. */
  read: { ...READING, statementMs: 0, lockMs: 10_000, idleMs: 60_000, settings: [] },
  write: CHANGE,
  /** node-pg-migrate begins and ends this transaction, and runs one migration in it. */
  migration: CHANGE,
  /** `plan` tries migrations. With another isolation than `migration`, statements would not act as in `up`. */
  dryRun: { ...CHANGE, statementMs: 20_000, lockMs: 3_000, totalMs: 20_000, ending: 'rollback' },
} as const satisfies Record<string, TransactionKind>;

export type Kind = keyof typeof KINDS;

/** Returns the entry of KINDS. Limits in `limits` replace those of the entry. */
export function describeKind(kind: Kind, limits: Partial<Limits> = {}): TransactionKind {
  return { ...KINDS[kind], ...limits };
}

/**
 * Returns the statements that begin a transaction. For a reading, never add a `do` block: the block would take the
 * snapshot before `lockBeforeSnapshot` (database.ts) has locked the tables.
 */
export function beginText(kind: Kind, serverVersion: number, limits?: Partial<Limits>): string {
  const { isolation, access } = KINDS[kind];
  const begin = `begin isolation level ${isolation}, ${access}, not deferrable`;
  return `${begin}; ${formatSettings(kind, serverVersion, limits)}`;
}

/** Returns only limits and settings: run-migrations.ts sets them in a transaction that node-pg-migrate has begun. */
export function formatSettings(kind: Kind, serverVersion: number, limits?: Partial<Limits>): string {
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
    ...(access === 'read write' ? formatPersonSettings() : []),
  ].join('; ');
}

/** Returns the setting from which the triggers of the change history read who runs the command. */
function formatPersonSettings(): string[] {
  const person = process.env['ORDER_LOOKUP_PERSON'] ?? '';
  return person === '' ? [] : [`set local order_lookup.person = ${escapeLiteral(person)}`];
}

/** The owner of the tables in docs/operators.md. At some database providers, a role of another name owns them. */
export const DOCUMENTED_OWNER = 'order_lookup_owner';

/**
 * Sets the role to the owner of the tables, which OWNERSHIP (migration-owner.ts) finds in the same way. Otherwise new
 * tables would belong to the role that logged in, and the owner could not change them.
 */
const SET_OWNER = `do $$ declare owner name; begin
  select coalesce(
    (select pg_get_userbyid(relowner) from pg_class where oid = to_regclass('public.pgmigrations')::oid),
    (select rolname from pg_roles where rolname = '${DOCUMENTED_OWNER}'),
    current_user
  ) into owner;
  execute format('set role %I', owner);
end $$`;

/**
 * The search path for node-pg-migrate's statements, which name the schema of each table. In a path with `public`, an
 * operator `=` for varchar that somebody created in that schema would run with the rights of the owner.
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
 * The settings of a session that runs migrations. They are not `local`, because node-pg-migrate waits for its advisory
 * lock outside of a transaction. MIGRATION_SESSION comes first, because its `reset all` would undo the others.
 */
export const RUNNER_SESSION = [
  MIGRATION_SESSION,
  'set statement_timeout = 0',
  `set lock_timeout = '120s'`, // a message of run-migrations.ts says two minutes
  formatConnectionCheck('set'),
].join('; ');
