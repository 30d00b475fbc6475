/**
 * What the role of the service or everybody may do beside SELECT, with tables, views, sequences and single columns, and
 * the tables and views that the role owns. The role of the service reads, and writes by `note_key_use` alone.
 *
 * Not looked at is what the owner of the tables cannot mend: roles of which the service is a member, and rights on the
 * schema. `examineRole` of the doctor warns if a role may write, for whatever reason. deploy/database/1-roles.sql warns
 * where everybody may create objects.
 */
export const SURPLUS_PRIVILEGES = `
  with granted_privileges as (
    select relation.relname, granted.privilege_type as privilege, granted.grantee
    from pg_class as relation, aclexplode(relation.relacl) as granted
    where relation.relnamespace = 'public'::regnamespace and granted.privilege_type <> 'SELECT'
      and granted.grantee <> relation.relowner
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
  ),
  surplus as (
    select
      format('%s on %s for %s', privilege, relname, role_name) as name,
      format('revoke %s on public.%I from %s;', privilege, relname, role_name) as statement
    from described
    where role_name in ('public', 'order_lookup_service')
    union all
    select
      format('ownership of %s for order_lookup_service', relation.relname),
      format('alter table public.%I owner to order_lookup_owner;', relation.relname)
    from pg_class as relation
    join pg_roles as owner on owner.oid = relation.relowner
    where relation.relnamespace = 'public'::regnamespace
      and relation.relkind in ('r', 'p', 'v', 'm')
      and owner.rolname = 'order_lookup_service'
  )
  select name, array[statement] as remedy
  from surplus
  order by name`;
