-- Once, by a superuser connected to the service's own, empty database, before the first migration.
-- The roles get no password here: give them one by \password, or leave it to your certificates.
create role order_lookup_owner login;   -- owns the tables; runs `migrate` and `keys`
create role order_lookup_service login; -- the service: reads, and nothing else

do $$ begin
  execute format('revoke all on database %I from public', current_database());
  execute format('grant connect on database %I to order_lookup_owner, order_lookup_service', current_database());
end $$;
revoke all on schema public from public;
grant usage, create on schema public to order_lookup_owner;
grant usage on schema public to order_lookup_service;
alter default privileges for role order_lookup_owner in schema public grant select on tables to order_lookup_service;
