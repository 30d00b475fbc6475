-- Once, connected to the service's own, empty database, before the first migration: as a superuser, or as a role with CREATEROLE that owns
-- the database. The roles get no password here: give them one by \password, or leave it to your certificates.
create role order_lookup_owner login;   -- owns the tables; runs `migrate` and `keys`
create role order_lookup_service login; -- the service: reads, and nothing else
create role order_lookup_auditor;       -- owns the record of changes, so that the role that runs migrations cannot rewrite it; nobody logs in with it
grant order_lookup_owner, order_lookup_auditor to current_user;

do $$ begin
  execute format('revoke all on database %I from public', current_database());
  execute format('grant connect on database %I to order_lookup_owner, order_lookup_service', current_database());
end $$;
revoke all on schema public from public;
grant usage, create on schema public to order_lookup_owner, order_lookup_auditor;
grant usage on schema public to order_lookup_service;
do $$ begin
  -- In PostgreSQL 14 the schema belongs to a superuser, whoever owns the database
  if has_schema_privilege('public', 'public', 'create') then
    raise warning 'every role may create objects in the schema public, which belongs to %. As that role, run: revoke all on schema public from public; grant usage, create on schema public to order_lookup_owner, order_lookup_auditor; grant usage on schema public to order_lookup_service;',
      (select nspowner::regrole from pg_namespace where nspname = 'public');
  end if;
end $$;
alter default privileges for role order_lookup_owner in schema public grant select on tables to order_lookup_service, order_lookup_auditor;

-- The migration that creates the record of changes calls this, since it may not give its tables away itself.
create function hand_over_record() returns void language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare name text;
begin
  foreach name in array array['table revision', 'table changed_code', 'table recorded_transaction', 'table history', 'table recorded_table',
      'view change_history', 'view record_state', 'view record_gap', 'view content_identity',
      'function fold_revisions', 'function note_change', 'function guard_revisions', 'function note_commit', 'function note_transaction',
      'function record_change', 'function acknowledge_truncation', 'function guard_history', 'function raise_every_topic'] loop
    execute format('alter %s owner to order_lookup_auditor', name);
  end loop;
  grant select on revision, changed_code, recorded_transaction, history, recorded_table, change_history, record_state, record_gap, content_identity to order_lookup_owner;
  grant execute on function raise_every_topic to order_lookup_owner;
end $$;
revoke execute on function hand_over_record from public;
grant execute on function hand_over_record to order_lookup_owner;
