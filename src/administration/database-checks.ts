// What the doctor looks at in the database. Each check reads in a transaction of its own; an error that one throws is a
// fault.
import type { Client } from 'pg';
import type { EntityManager } from 'typeorm';
import { lockTables } from '../database/database-sessions.js';
import { CODE_TABLES, readCodes } from '../lookups/code-rows.js';
import { commandLine } from './cli/program.js';
import { readColumn } from './cli/transaction.js';
import { KEY_STATE } from './keys.js';
import { describeMissing, readState } from './migrate/migration-state.js';
import { type CheckResult, fault, ok, warning } from './refused-credentials.js';

const SERVER = `select pg_catalog.format('PostgreSQL %s, database %s, role %s',
  current_setting('server_version'), current_database(), current_user)`;

/** That it can be reached has been found before: otherwise there is no session. */
export async function checkDatabase(session: Client): Promise<CheckResult> {
  const [text = ''] = await readColumn(session, SERVER);
  return ok(text);
}

/**
 * The tables that the service reads. One that it comes to read has to be added here, with the grant in its migration:
 * otherwise the doctor finds nothing where the service may not read it.
 */
const READ_TABLES = ['revision', 'area_property', 'code_list_value', 'communication_code', 'api_key'];

/** Where the owner asks, policies do not hold for the owner but for the service. */
const ROW_SECURITY = `
  select relname from pg_class
  where relnamespace = 'public'::regnamespace and relname = any ($1) and relrowsecurity
    and (row_security_active(oid) or pg_has_role(relowner, 'usage'))
  order by relname`;

/** Nothing of ours switches it on: an event trigger of others may, for each new table. */
export async function checkRowSecurity(session: Client): Promise<CheckResult> {
  const tables = await readColumn(session, ROW_SECURITY, [[...READ_TABLES, 'pgmigrations']]);
  if (tables.length === 0) return ok('off, as the service needs it');
  const statements = tables.map((table) => `alter table public.${table} disable row level security;`);
  const text = `row level security hides the rows of ${tables.join(', ')}`;
  return fault(text, forOwner(statements));
}

export async function checkMigrations(session: Client): Promise<CheckResult> {
  const state = await readState(session);
  const { pending, missing } = state;
  if (pending.length > 0) {
    return fault(`pending: ${pending.join(', ')}`, `As the owner: ${commandLine('migrate', 'up')}`);
  }
  if (missing.length > 0) return warning(describeMissing(state).join(' '), 'Nothing, if a newer release applied it.');
  return ok('all applied');
}

/** The privileges of a table that is not there are null. */
const RIGHTS = `
  select
    current_user as role,
    coalesce(pg_catalog.array_agg(name) filter (where may_read is null), '{}') as missing,
    coalesce(pg_catalog.array_agg(name) filter (where not may_read), '{}') as unread,
    coalesce(bool_or(may_write), false) as "canWrite"
  from pg_catalog.unnest($1::text[]) as name
  cross join lateral (select to_regclass('public.' || name) as id) as found
  cross join lateral (
    select
      has_table_privilege(id, 'select') as may_read,
      has_table_privilege(id, 'insert, update, delete, truncate') as may_write
  ) as privileges`;

interface Rights {
  readonly role: string;
  readonly missing: readonly string[];
  readonly unread: readonly string[];
  readonly canWrite: boolean;
}

/** @throws DatabaseError where the role may not even use the schema */
export async function checkRole(session: Client): Promise<CheckResult> {
  const { rows } = await session.query<Rights>(RIGHTS, [READ_TABLES]);
  const [rights] = rows;
  if (!rights) throw new Error('PostgreSQL does not tell what the role may');
  const { role, missing, unread, canWrite } = rights;
  if (missing.length > 0) {
    const text = `there is nothing that ${role} could read: ${missing.join(', ')} is missing`;
    return fault(text, `As the owner: ${commandLine('migrate', 'up')}`);
  }
  if (unread.length > 0) {
    const tables = unread.map((name) => `public.${name}`).join(', ');
    return fault(`${role} may not read ${unread.join(', ')}`, `As the owner: grant select on ${tables} to ${role};`);
  }
  const text = `${role} may read all that the service needs`;
  return canWrite ? warning(`${text}, and may write too`, 'Right for migrations alone.') : ok(text);
}

const COUNT_KEYS = `select count(*)::int from public.api_key where ${KEY_STATE} in ('in force', 'rotated')`;

/** @throws RefusedContent if the service would refuse the codes */
export async function checkContent(session: Client, manager: EntityManager): Promise<CheckResult> {
  await lockTables(session, CODE_TABLES); // before the first query, which takes the snapshot
  const { values, records } = await readCodes(manager);
  const [keyCount = 0] = await readColumn<number>(session, COUNT_KEYS);
  const text = `${values.length} values, ${records.length} communication codes, ${keyCount} API keys in force`;
  return keyCount > 0 ? ok(text) : warning(text, `Issue a key: ${commandLine('keys', 'issue --client NAME')}`);
}

/**
 * Each trigger that is not there, or does not fire in every session, with the statement that mends it. Only `enable
 * always` fires also where a tool has set session_replication_role to replica to load data.
 */
const TRIGGER_FAULTS = `
  with expected (table_name, trigger_name, creation) as (
    select table_name, trigger_name, pg_catalog.format(creation, table_name)
    from pg_catalog.unnest(array[
      'code_list', 'code_list_value', 'area_property', 'communication_code', 'api_key', 'pgmigrations'
    ]) as table_name
    cross join (values
      ('record_insert', 'create trigger record_insert after insert on public.%I referencing new table as new_rows
        for each statement execute function public.record_change();'),
      ('record_update', 'create trigger record_update after update on public.%I
        referencing old table as old_rows new table as new_rows
        for each statement execute function public.record_change();'),
      ('record_delete', 'create trigger record_delete after delete on public.%I referencing old table as old_rows
        for each statement execute function public.record_change();'),
      ('record_truncate', 'create trigger record_truncate before truncate on public.%I
        for each statement execute function public.record_change();')
    ) as recording (trigger_name, creation)
    union all
    select table_name, 'lock_stamp', pg_catalog.format('create trigger lock_stamp before insert or update or delete on public.%I
        for each statement execute function public.lock_stamp(%L);', table_name, topic)
    from (values
      ('code_list', 'codes'), ('code_list_value', 'codes'), ('area_property', 'codes'),
      ('communication_code', 'codes'), ('api_key', 'keys')
    ) as locking (table_name, topic)
    union all values
      ('pgmigrations', 'set_stamps', 'create trigger set_stamps before insert or delete on public.pgmigrations
        for each statement execute function public.set_stamps();')
  )
  select
    pg_catalog.format('%s of %s %s', trigger_name, table_name,
      case
        when trigger.oid is null then 'is missing'
        when tgenabled = 'D' then 'is switched off'
        else 'is not enabled always: some tools load data past it'
      end) as fault,
    pg_catalog.concat(
      case when trigger.oid is null then regexp_replace(creation, '\\s+', ' ', 'g') || E'\\n' end,
      pg_catalog.format('alter table public.%I enable always trigger %I;', table_name, trigger_name)
    ) as remedy
  from expected
  left join pg_trigger as trigger
    on tgrelid = to_regclass('public.' || table_name) and tgname = trigger_name and not tgisinternal
  where trigger.oid is null or tgenabled <> 'A'
  order by table_name, trigger_name`;

/** The triggers by which a change gets a new revision, so that every replica reads it, and its row in the history. */
export async function checkTriggers(session: Client): Promise<CheckResult> {
  const { rows } = await session.query<{ fault: string; remedy: string }>(TRIGGER_FAULTS);
  if (rows.length === 0) return ok('all that follow changes are there and enabled');
  return fault(rows.map((row) => row.fault).join(', '), forOwner(rows.map(({ remedy }) => remedy)));
}

/** Statements for psql, ready to paste. */
function forOwner(statements: readonly string[]): string {
  return ['As the owner:', ...statements].join('\n');
}
