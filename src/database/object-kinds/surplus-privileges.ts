/**
 * What the role of the service or everybody may do beside SELECT, with tables, views, sequences and single columns. The
 * role of the service reads, and writes by `note_key_use` alone.
 */
export const SURPLUS_PRIVILEGES = `
  with granted_privileges as (
    select relation.relname, granted.privilege_type as privilege, granted.grantee
    from pg_class as relation, aclexplode(relation.relacl) as granted
    where relation.relnamespace = 'public'::regnamespace and granted.privilege_type <> 'SELECT'
    union all
    select relation.relname, format('%s (%I)', granted.privilege_type, attribute.attname), granted.grantee
    from pg_class as relation
    join pg_attribute as attribute on attribute.attrelid = relation.oid,
      aclexplode(attribute.attacl) as granted
    where relation.relnamespace = 'public'::regnamespace and granted.privilege_type <> 'SELECT'
  ),
  described as (
    select
      relname,
      privilege,
      case grantee when 0 then 'public' else grantee::regrole::text end as role_name
    from granted_privileges
  )
  select
    format('%s on %s for %s', privilege, relname, role_name) as name,
    array[format('revoke %s on public.%I from %s;', privilege, relname, role_name)] as remedy
  from described
  where role_name in ('public', 'order_lookup_service')
  order by name`;
