/**
 * The role of the service, if this database knows it: the role asks itself, or was granted something here. Otherwise
 * there is no row, and every privilege counts as granted.
 */
const SERVICE_ROLE = `
  select role.oid
  from pg_roles as role
  where role.rolname = 'order_lookup_service' and (
    role.rolname = current_user
    or exists (
      select
      from pg_class as relation, aclexplode(relation.relacl) as granted
      where relation.relnamespace = 'public'::regnamespace and granted.grantee = role.oid
    )
  )`;

/** What the service reads: tables, and the sequences by which the doctor sees whether a move left them behind. */
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
