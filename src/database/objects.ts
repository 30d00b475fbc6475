// The objects that the migrations make: functions, constraints, triggers, views, the rows of `revision`, and the privileges of the service's role.
// objects.json holds for each the statements that make it, as PostgreSQL prints them. A test keeps it equal to the migrations.
import { readFileSync } from 'node:fs';
import type { Client } from 'pg';

/** An object that is not what it must be, and the statements by which the owner mends it. */
export type ObjectFault = Readonly<Record<'name' | 'fault' | 'remedy', string>>;

/** PostgreSQL then prints every name with its schema, but for those of pg_catalog. */
const SETTINGS = `set local search_path = pg_catalog; set local timezone = 'UTC'; set local datestyle = 'ISO'; set local quote_all_identifiers = off`;
/** What the service's role has beyond its needs. */
const SURPLUS = 8;
// Versions of PostgreSQL differ in what is left out and replaced here: constraints NOT NULL (18), names of tables in views (before 16).
const OBJECTS = `
  with ours as (select oid, relname, relkind, relacl from pg_class where relnamespace = to_regnamespace('public')),
    service as (select oid from pg_roles where rolname = 'order_lookup_service' and (rolname = current_user
      or has_table_privilege(oid, to_regclass('public.revision'), 'select') or has_table_privilege(oid, to_regclass('public.api_key'), 'select')))
  select 1 as place, format('function %s', oid::regprocedure) as name, concat(pg_get_functiondef(oid), ';',
      case when not has_function_privilege('public', oid, 'execute') then format(' revoke execute on function %s from public;', oid::regprocedure) end) as statements
    from pg_proc where pronamespace = to_regnamespace('public') and prokind = 'f'
  union all select case contype when 'f' then 3 else 2 end, format('constraint %s of %s', conname, relname),
      format('alter table public.%1$I drop constraint if exists %2$I cascade; alter table public.%1$I add constraint %2$I %3$s;', relname, conname, pg_get_constraintdef(c.oid))
    from pg_constraint c join ours on ours.oid = conrelid where contype in ('p', 'u', 'f', 'c')
  union all select 4, format('trigger %s of %s', tgname, relname),
      format('drop trigger if exists %1$I on public.%2$I; %3$s; alter table public.%2$I %4$s trigger %1$I;', tgname, relname, pg_get_triggerdef(t.oid),
        case tgenabled when 'A' then 'enable always' when 'R' then 'enable replica' when 'O' then 'enable' else 'disable' end)
    from pg_trigger t join ours on ours.oid = tgrelid where not tgisinternal
  union all select 5, 'view ' || relname,
      format('drop view if exists public.%1$I; create view public.%1$I as%2$s', relname, regexp_replace(pg_get_viewdef(oid), '\\mhistory\\.', '', 'g'))
    from ours where relkind = 'v'
  union all select 6, format('row %s of revision', topic), format('insert into public.revision (topic) values (%L);', topic) from public.revision
  union all select 7, format('%s on %s for the service', privilege, target), format('grant %s on %s to order_lookup_service;', privilege, target)
    from (select 'select' as privilege, 'public.' || name as target, has_table_privilege(service.oid, to_regclass('public.' || name), 'select') as is_there
        from unnest(array['revision', 'area_property', 'code_list_value', 'communication_code', 'api_key']) as name left join service on true
      union all select 'execute', 'function public.note_key_use(uuid[])', has_function_privilege(service.oid, to_regprocedure('public.note_key_use(uuid[])'), 'execute')
        from (values (1)) one left join service on true) p where is_there or not exists (select from service)
  union all select ${SURPLUS}, format('%s on %s for %s', a.privilege_type, relname, coalesce(service.oid::regrole::text, 'public')), format('revoke %s on public.%I from %s;', a.privilege_type, relname, coalesce(service.oid::regrole::text, 'public'))
    from ours cross join aclexplode(relacl) a left join service on service.oid = a.grantee
    where relkind in ('r', 'v') and a.privilege_type in ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE') and (a.grantee = 0 or service.oid is not null)
  order by 1, 2`;

const LIST = Object.entries<string>(
  JSON.parse(readFileSync(new URL('objects.json', import.meta.url), 'utf8')) as {},
);

/** The objects of a database, in the order in which they can be made. It runs in a transaction of the caller, whose settings stay as they were. */
export async function readObjects(client: Client) {
  await client.query(`savepoint objects; ${SETTINGS}`);
  const { rows } = await client.query<{ place: number; name: string; statements: string }>(OBJECTS);
  await client.query('rollback to savepoint objects; release savepoint objects');
  return rows;
}

/** Compares the objects of a database with those of this release, in a transaction of the caller. The role of the service may do it. */
export async function objectFaults(client: Client): Promise<ObjectFault[]> {
  const rows = await readObjects(client);
  const found = new Map(rows.map(({ name, statements }) => [name, statements]));
  const faults = LIST.filter(([name, statements]) => found.get(name) !== statements);
  return [
    ...faults.map(([name, remedy]) => ({ name, fault: faultOf(found.get(name)), remedy })),
    ...rows
      .filter(({ place }) => place === SURPLUS)
      .map(({ name, statements }) => ({ name, fault: 'is too much', remedy: statements })),
  ];
}

function faultOf(statements: string | undefined): string {
  if (statements === undefined) return 'is missing';
  return / disable trigger \S+;$/.test(statements)
    ? 'is switched off'
    : 'is not what the migrations made';
}
