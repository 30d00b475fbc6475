-- Run this before the first migration, in the service's own empty database: as a superuser, or as a role with
-- CREATEROLE that owns the database. You can run it again, also in another database.
-- The roles get no password here: set one with \password, or use certificates.
do $$ begin
  if not exists (select from pg_roles where rolname = 'order_lookup_owner') then
    create role order_lookup_owner login; -- owns the tables; runs `migrate` and `keys`
  end if;
  if not exists (select from pg_roles where rolname = 'order_lookup_service') then
    create role order_lookup_service login; -- the role of the service, which may only read
  end if;
end $$;
grant order_lookup_service to order_lookup_owner; -- `migrate plan` reads as the service does
grant order_lookup_owner to current_user;

do $$ begin
  execute format('revoke all on database %I from public', current_database());
  execute format('grant connect on database %I to order_lookup_owner, order_lookup_service', current_database());
end $$;
revoke all on schema public from public;
grant usage, create on schema public to order_lookup_owner;
grant usage on schema public to order_lookup_service;
do $$ begin
  -- In PostgreSQL 14 the schema public belongs to a superuser, also if another role owns the database
  if has_schema_privilege('public', 'public', 'create') then
    raise warning 'every role may create objects in the schema public, which belongs to %. As that role, run: revoke all on schema public from public; grant usage, create on schema public to order_lookup_owner; grant usage on schema public to order_lookup_service;',
      (select nspowner::regrole from pg_namespace where nspname = 'public');
  end if;
end $$;
alter default privileges for role order_lookup_owner in schema public grant select on tables to order_lookup_service;
