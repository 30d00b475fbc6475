// DANGER: in SQL, write `pg_catalog.` before functions that take any type, such as `format`, and cast regclass to oid.
// Otherwise PostgreSQL may call what somebody has created in `public` (docs/decisions.md#the-search-path).
import type { EntityManager } from 'typeorm';
import { CLOCK_SKEW_SECONDS } from '../../auth/access-tokens.service.js';
import { lockBeforeSnapshot } from '../../database/database.js';
import type { Session } from '../../database/session.js';
import { DOCUMENTED_OWNER } from '../../database/transactions.js';
import { CLOCK_REMEDY, NOTICEABLE_OFFSET_MS, describeOffset } from '../../following/clock-watch.js';
import { CODE_TABLES, assertAreas, readCodes } from '../../lookups/code-rows.js';
import { readColumn } from '../cli/connection.js';
import { formatCommandLine } from '../cli/program.js';
import { KEY_STATE } from '../keys.js';
import { describeMissing, readState } from '../migrate/migration-state.js';
import { type CheckResult, fault, forOwner, ok, warning } from './check-result.js';

const SERVER = `
  select
    pg_catalog.format('PostgreSQL %s, database %s, role %s',
      current_setting('server_version'), current_database(), current_user) as text,
    pg_is_in_recovery() as "isStandby"`;

export async function checkDatabase(session: Session): Promise<CheckResult> {
  const { rows } = await session.query<{ text: string; isStandby: boolean }>(SERVER);
  const [server] = rows;
  if (!server) throw new Error('PostgreSQL returned no row about the server');
  if (!server.isStandby) return ok(server.text);
  return warning(
    `${server.text}: a hot standby, which takes no changes`,
    'The service can use it. For migrations and keys, name the primary in the connection string.',
  );
}

/** If this machine's clock is wrong by this time or more, the service refuses good tokens. */
const TOLERATED_OFFSET_MS = CLOCK_SKEW_SECONDS * 1000;

/** Assumes that the database reads its clock halfway between the query and its answer. */
export async function checkClock(session: Session): Promise<CheckResult> {
  const askedAtMs = Date.now();
  const { rows } = await session.query<{ seconds: string }>('select extract(epoch from clock_timestamp()) as seconds');
  const middleMs = (askedAtMs + Date.now()) / 2;
  const offsetMs = middleMs - Number(rows[0]?.seconds) * 1000;
  if (Math.abs(offsetMs) < NOTICEABLE_OFFSET_MS) return ok("this machine's clock agrees with the database's");
  const text = describeOffset(offsetMs);
  return Math.abs(offsetMs) < TOLERATED_OFFSET_MS ? warning(text, CLOCK_REMEDY) : fault(text, CLOCK_REMEDY);
}

/**
 * The tables that the service reads. If a table is missing in this list, the doctor does not notice that the service
 * may not read that table.
 */
const READ_TABLES = ['revision', 'area_property', 'code_list_value', 'communication_code', 'api_key'];
const ALL_TABLES = [...READ_TABLES, 'api_key_use', 'code_list', 'history', 'pgmigrations'];

export async function checkMigrations(session: Session): Promise<CheckResult> {
  const state = await readState(session);
  const { pending, missing } = state;
  if (pending.length > 0) {
    return fault(`pending: ${pending.join(', ')}`, `As the owner: ${formatCommandLine('migrate', 'up')}`);
  }
  if (missing.length > 0)
    return warning(describeMissing(state).join(' '), 'If a newer release has applied them, do nothing.');
  return ok('all applied');
}

/** One row for each table of $1: the rights of the present role, or null if the table is missing. */
const RIGHTS = `
  select
    quote_ident(current_user::text) as role, -- a remedy contains it as SQL
    name as table,
    has_table_privilege(id, 'select') as "canRead",
    has_table_privilege(id, 'insert, update, delete, truncate') as "canWrite" -- one of these rights is enough
  from pg_catalog.unnest($1::text[]) as name
  cross join lateral (select to_regclass('public.' || name)::oid as id) as found`;

interface Rights {
  readonly role: string;
  readonly table: string;
  readonly canRead: boolean | null;
  readonly canWrite: boolean | null;
}

/** @throws DatabaseError if the role may not use the schema */
export async function checkRole(session: Session): Promise<CheckResult> {
  const { rows } = await session.query<Rights>(RIGHTS, [READ_TABLES]);
  const [first] = rows;
  if (!first) throw new Error('PostgreSQL returned no row about the role');
  const { role } = first;
  const missing = rows.filter(({ canRead }) => canRead === null).map(({ table }) => table);
  if (missing.length > 0) {
    const text = `tables that ${role} has to read are missing: ${missing.join(', ')}`;
    return fault(text, `As the owner: ${formatCommandLine('migrate', 'up')}`);
  }
  const unread = rows.filter(({ canRead }) => canRead === false).map(({ table }) => table);
  if (unread.length > 0) {
    const tables = unread.map((name) => `public.${name}`).join(', ');
    return fault(`${role} may not read ${unread.join(', ')}`, `As the owner: grant select on ${tables} to ${role};`);
  }
  const text = `${role} may read all that the service needs`;
  const canWrite = rows.some((row) => row.canWrite);
  return canWrite ? warning(`${text}, and may write too`, 'Use such a role only for migrations.') : ok(text);
}

/**
 * If a role other than order_lookup_owner owns one of the tables $1, selects an `alter … owner` for each table, view
 * and function of this role in `public`, except parts of extensions. Selects nothing if there is no order_lookup_owner.
 */
const WRONG_OWNERS = `
  with wrong_owner as (
    select distinct relowner as oid
    from pg_class
    join pg_roles on rolname = '${DOCUMENTED_OWNER}' and pg_roles.oid <> relowner
    where relnamespace = 'public'::regnamespace::oid and relname = any ($1)
  ),
  object as (
    select 'pg_class'::regclass::oid as catalog, oid, case relkind when 'v' then 'view' else 'table' end as kind,
      pg_catalog.format('%I.%I', 'public', relname) as name, relowner as owner
    from pg_class where relnamespace = 'public'::regnamespace::oid and relkind in ('r', 'v')
    union all
    select 'pg_proc'::regclass::oid, oid, 'function', oid::regprocedure::text, proowner
    from pg_proc where pronamespace = 'public'::regnamespace::oid and prokind = 'f'
  )
  select wrong_owner.oid::regrole::text as owner,
    pg_catalog.format('alter %s %s owner to ${DOCUMENTED_OWNER};', kind, name) as statement
  from object
  join wrong_owner on wrong_owner.oid = object.owner
  where not exists (
    select from pg_depend where classid = catalog and objid = object.oid and deptype = 'e' -- part of an extension
  )
  order by kind, name`;

/** If the tables belong to another role, order_lookup_owner can neither migrate nor issue keys. */
export async function checkOwner(session: Session): Promise<CheckResult> {
  const { rows } = await session.query<{ owner: string; statement: string }>(WRONG_OWNERS, [ALL_TABLES]);
  if (rows.length === 0) return ok('no table belongs to a wrong role');
  const owners = [...new Set(rows.map(({ owner }) => owner))].join(', ');
  const statements = ['As a superuser, or as a member of both roles:', ...rows.map(({ statement }) => statement)];
  return fault(`tables belong to ${owners}, and not to ${DOCUMENTED_OWNER}`, statements.join('\n'));
}

/** A key in the state `rotated` is still accepted. */
const COUNT_KEYS = `select count(*)::int from public.api_key where ${KEY_STATE} in ('in force', 'rotated')`;

/** Reads with the service's own functions. They throw if the service could not read or serve the content. */
export async function checkContent(session: Session, manager: EntityManager): Promise<CheckResult> {
  await lockBeforeSnapshot(session, CODE_TABLES); // before any query, or a table that is being refilled looks empty
  const rows = await readCodes(manager);
  assertAreas(rows);
  const [keyCount = 0] = await readColumn<number>(session, COUNT_KEYS);
  const { values, records } = rows;
  const text = `${values.length} values, ${records.length} communication codes, ${keyCount} valid API keys`;
  return keyCount > 0 ? ok(text) : warning(text, `Issue a key: ${formatCommandLine('keys', 'issue --client NAME')}`);
}

interface ExpectedTrigger {
  readonly table: string;
  readonly trigger: string;
  /** The migration whose text creates the trigger. */
  readonly file: string;
}

const RECORD_TRIGGERS = ['record_delete', 'record_insert', 'record_truncate', 'record_update'];
const CONTENT_TABLES = ['api_key', 'area_property', 'code_list', 'code_list_value', 'communication_code'];

/** The triggers that must be enabled always. If a trigger is missing here, the doctor does not notice its loss. */
const EXPECTED_TRIGGERS: readonly ExpectedTrigger[] = [
  ...CONTENT_TABLES.flatMap((table) => [
    { table, trigger: 'lock_stamp', file: '0005_lock_stamps_first' },
    ...RECORD_TRIGGERS.map((trigger) => ({ table, trigger, file: '0002_record_changes' })),
  ]),
  ...RECORD_TRIGGERS.map((trigger) => ({ table: 'pgmigrations', trigger, file: '0002_record_changes' })),
  { table: 'pgmigrations', trigger: 'set_stamps', file: '0005_lock_stamps_first' },
];

const TRIGGERS = `
  select relname as table, tgname as trigger, tgenabled as state
  from pg_trigger
  join pg_class on pg_class.oid = tgrelid
  where relnamespace = 'public'::regnamespace::oid and not tgisinternal`;

interface ExistingTrigger {
  readonly table: string;
  readonly trigger: string;
  /** The column tgenabled of pg_trigger: A is `enable always`, O is enabled, D is disabled. */
  readonly state: string;
}

interface FaultyTrigger extends ExpectedTrigger {
  /** Undefined if the trigger is missing. */
  readonly state: string | undefined;
}

/** Without these triggers a change is not in the history, and replicas may serve the former content for ten minutes. */
export async function checkTriggers(session: Session): Promise<CheckResult> {
  const { rows } = await session.query<ExistingTrigger>(TRIGGERS);
  const faulty = findFaultyTriggers(rows);
  if (faulty.length === 0) return ok('all triggers that follow changes exist and are enabled');
  return fault(faulty.map(describeTrigger).join(', '), forOwner(listTriggerRemedies(faulty)));
}

/** Also finds triggers in state O: they do not fire in a session that sets session_replication_role = replica. */
function findFaultyTriggers(existing: readonly ExistingTrigger[]): FaultyTrigger[] {
  const triggers = EXPECTED_TRIGGERS.map((expected) => {
    const found = existing.find(({ table, trigger }) => table === expected.table && trigger === expected.trigger);
    return { ...expected, state: found?.state };
  });
  return triggers.filter(({ state }) => state !== 'A');
}

function describeTrigger({ trigger, table, state }: FaultyTrigger): string {
  if (state === undefined) return `${trigger} of ${table} is missing`;
  if (state === 'D') return `${trigger} of ${table} is switched off`;
  return `${trigger} of ${table} is not enabled always, so it does not fire for all changes`;
}

function listTriggerRemedies(triggers: readonly FaultyTrigger[]): string[] {
  return triggers.flatMap(({ trigger, table, file, state }) => [
    ...(state === undefined ? [`-- create ${trigger} of ${table} again, as migrations/${file}.sql does, then:`] : []),
    `alter table public.${table} enable always trigger ${trigger};`,
  ]);
}
