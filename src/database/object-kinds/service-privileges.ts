// The role of the service is order_lookup_service, as deploy/database/1-roles.sql makes it. An installation may give
// the service a role of another name. Then every privilege here counts as granted: only `examineRole` of the doctor,
// which asks as whoever runs it, says what that role may not read.

/**
 * The role of the service, if this database knows it: the role itself is asking, or it was granted something here,
 * directly or as a member of another role. So it also counts where it lacks every privilege on tables, as after a
 * restore without privileges. A role of that name that belongs to another database of the server does not count.
 */
const SERVICE_ROLE = `
  select role.oid
  from pg_roles as role
  where role.rolname = 'order_lookup_service' and (
    role.rolname = current_user
    or exists (
      select
      from (
        select datacl as acl from pg_database where datname = current_database()
        union all
        select nspacl from pg_namespace where oid = 'public'::regnamespace
        union all
        select relacl from pg_class where relnamespace = 'public'::regnamespace
      ) as object, aclexplode(object.acl) as granted
      where granted.grantee <> 0 and pg_has_role(role.oid, granted.grantee, 'member')
    )
  )`;

/**
 * What the service reads: tables, and the sequences by which the doctor sees whether a move left them behind.
 *
 * A further table has to be added here, to `RIGHTS` of the doctor (src/administration/doctor/role.ts) and to the lock
 * of its topic. `WRITE_OBJECTS=1 npm run test:all -- test/database/objects` then writes objects.json.
 */
export const SERVICE_READS = `
  with service as (${SERVICE_ROLE})
  select
    format('select on %s for the service', relation.relname) as name,
    'granted' as definition,
    array[format('grant select on public.%I to order_lookup_service;', relation.relname)] as remedy,
    false as "isOff"
  from pg_class as relation
  where relation.relnamespace = 'public'::regnamespace
    and relation.relname in ('revision', 'area_property', 'code_list_value', 'communication_code', 'api_key',
      'history_id_seq', 'pgmigrations_id_seq')
    and (
      not exists (select from service)
      or exists (select from service where has_table_privilege(service.oid, relation.oid, 'select'))
    )
  order by name`;

/** What the service executes: `note_key_use`, by which alone it writes. */
export const SERVICE_EXECUTES = `
  with service as (${SERVICE_ROLE})
  select
    'execute on note_key_use for the service' as name,
    'granted' as definition,
    array['grant execute on function public.note_key_use to order_lookup_service;'] as remedy,
    false as "isOff"
  from pg_proc as function
  where function.oid = to_regproc('public.note_key_use')
    and (
      not exists (select from service)
      or exists (select from service where has_function_privilege(service.oid, function.oid, 'execute'))
    )`;
