-- Up Migration

-- Locks the revision of a topic before a statement locks its first row. So writers that lock rows in the same order never deadlock over the revision.
create function lock_stamp() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform from public.revision where topic = tg_argv[0] for no key update;
  return null;
end $$;

-- A migration may change content by DDL, which no trigger notices. So a new or deleted row of pgmigrations sets both stamps.
create function set_stamps() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into public.revision (topic) values ('codes'), ('keys') on conflict (topic) do update
    set (stamp, changed_at, transaction_id) = (excluded.stamp, excluded.changed_at, excluded.transaction_id);
  return null;
end $$;
revoke execute on function lock_stamp, set_stamps from public;

do $$
declare name text;
begin
  foreach name in array array['code_list', 'code_list_value', 'area_property', 'communication_code', 'api_key'] loop
    execute format('create trigger lock_stamp before insert or update or delete on %I for each statement execute function lock_stamp(%L)',
      name, case name when 'api_key' then 'keys' else 'codes' end);
    execute format('alter table %I enable always trigger lock_stamp', name);
  end loop;
end $$;
create trigger set_stamps before insert or delete on pgmigrations for each statement execute function set_stamps();
alter table pgmigrations enable always trigger set_stamps;

-- The view trigger_fault stays for replicas of the release before, which read it.

-- Down Migration

drop function lock_stamp, set_stamps cascade;
