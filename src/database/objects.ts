// The objects that the migrations make: functions, constraints, triggers, the rows of `revision`, and the privileges of the service's role.
// objects.json holds for each the statements that make it, as PostgreSQL prints them. A test keeps it equal to the migrations.
import { readFileSync } from 'node:fs';
import type { Client } from 'pg';

/** An object that is not what it must be, and the statements by which the owner mends it. */
export type ObjectFault = Readonly<Record<'name' | 'fault' | 'remedy', string>>;

/** In the order in which they can be made; the last are privileges beyond what the service's role needs. */
export const OBJECTS = `
  with ours as (select oid, relname, relacl from pg_class where relnamespace = to_regnamespace('public') and relkind in ('r', 'v')),
    service as (select oid from pg_roles where rolname = 'order_lookup_service'
      and (rolname = current_user or exists (select from ours, aclexplode(relacl) a where a.grantee = pg_roles.oid)))
  select 1 as place, format('function %s', oid::regprocedure) as name, concat(pg_get_functiondef(oid), ';',
      case when not has_function_privilege('public', oid, 'execute') then format(' revoke execute on function public.%s from public;', oid::regprocedure) end) as statements
    from pg_proc where pronamespace = to_regnamespace('public') and prokind = 'f'
  union all select case contype when 'f' then 3 else 2 end, format('constraint %s of %s', conname, relname),
      format('alter table public.%1$I drop constraint if exists %2$I cascade; alter table public.%1$I add constraint %2$I %3$s;', relname, conname, pg_get_constraintdef(c.oid))
    from pg_constraint c join ours on ours.oid = conrelid where contype in ('p', 'u', 'f', 'c')
  union all select 4, format('trigger %s of %s', tgname, relname),
      format('drop trigger if exists %1$I on public.%2$I; %3$s; alter table public.%2$I %4$s trigger %1$I;', tgname, relname, pg_get_triggerdef(t.oid),
        case tgenabled when 'A' then 'enable always' when 'R' then 'enable replica' when 'O' then 'enable' else 'disable' end)
    from pg_trigger t join ours on ours.oid = tgrelid where not tgisinternal
  union all select 5, format('row %s of revision', topic), format('insert into public.revision (topic) values (%L);', topic) from public.revision
  union all select 6, format('select on %s for the service', relname), format('grant select on public.%I to order_lookup_service;', relname)
    from ours left join service on true where relname in ('revision', 'area_property', 'code_list_value', 'communication_code', 'api_key')
      and coalesce(has_table_privilege(service.oid, ours.oid, 'select'), true)
  union all select 6, 'execute on note_key_use for the service', 'grant execute on function public.note_key_use to order_lookup_service;'
    from pg_proc p left join service on true where p.oid = to_regproc('public.note_key_use')
      and coalesce(has_function_privilege(service.oid, p.oid, 'execute'), true)
  union all select 7, format('%s on %s for %s', privilege_type, relname, grantee), format('revoke %s on public.%I from %s;', privilege_type, relname, grantee)
    from (select relname, privilege_type, case grantee when 0 then 'public' else grantee::regrole::text end as grantee from ours, aclexplode(relacl)) granted
    where privilege_type <> 'SELECT' and grantee in ('public', 'order_lookup_service')
  order by 1, 2`;
const SURPLUS = 7;

const LIST = JSON.parse(readFileSync(new URL('objects.json', import.meta.url), 'utf8')) as object;

/** Compares the objects of a database with those of this release, in a transaction with our settings. The role of the service may do it. */
export async function objectFaults(client: Client): Promise<ObjectFault[]> {
  type Found = { place: number; name: string; statements: string };
  const { rows } = await client.query<Found>(OBJECTS);
  const found = new Map(rows.map(({ name, statements }) => [name, statements]));
  const faults = Object.entries(LIST as Record<string, string>).flatMap(([name, remedy]) => {
    const present = found.get(name);
    return present === remedy ? [] : [{ name, fault: faultOf(present), remedy }];
  });
  for (const { place, name, statements: remedy } of rows)
    if (place === SURPLUS) faults.push({ name, fault: 'is too much', remedy });
  return faults;
}

function faultOf(statements: string | undefined): string {
  if (statements === undefined) return 'is missing';
  const isOff = / disable trigger \S+;$/.test(statements);
  return isOff ? 'is switched off' : 'is not what the migrations made';
}
