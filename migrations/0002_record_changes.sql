-- Up Migration

-- One row for each topic. Every transaction that changes the topic sets a new random stamp, so two contents never have the same stamp,
-- whatever is restored or lost. Writers of one topic wait for each other.
create table revision (
  topic text constraint revision_is_unique primary key,
  stamp uuid not null default gen_random_uuid(),
  changed_at timestamptz not null default now(),
  transaction_id xid8 not null default pg_current_xact_id(),
  constraint revision_topic_is_known check (topic in ('codes', 'keys'))
);
comment on table revision is 'The stamp of the content of each topic; written by triggers only';
insert into revision (topic) values ('codes'), ('keys');

-- The table of the migration runner, as it makes it itself: its changes belong to the record
create table if not exists pgmigrations (id serial primary key, name varchar(255) not null, run_on timestamp not null);

create table history (
  id bigint generated always as identity constraint history_id_is_unique primary key,
  -- When the statement ran, and when its transaction began. The id of a transaction may occur again after a restore.
  changed_at timestamptz not null default clock_timestamp(),
  begun_at timestamptz not null default now(),
  transaction_id xid8 not null default pg_current_xact_id(),
  database_user text not null default session_user,
  -- What the session says about itself: application_name, order_lookup.person and order_lookup.migration
  application text not null default coalesce(current_setting('application_name', true), ''),
  person text default nullif(current_setting('order_lookup.person', true), ''),
  migration text default nullif(current_setting('order_lookup.migration', true), ''),
  table_name text not null,
  operation text not null,
  old_row jsonb,
  new_row jsonb
);
comment on table history is 'Every change of a code or a key, and every migration; written by triggers only. Old rows may be deleted';
create index history_by_time on history (changed_at);
create view change_history as select * from history order by id;

-- Runs once for each statement and handles its rows as a set, so that loading many codes costs little. Hashes of keys are left out.
-- No nested loops: a session keeps the plan that it made for one changed row, and would compare each of 20,000 with each
create function record_change() returns trigger language plpgsql security definer
  set search_path = pg_catalog, pg_temp set timezone = 'UTC' set enable_nestloop = off as $$
declare
  changed bigint;
  changed_topic constant text := case tg_table_name when 'api_key' then 'keys' when 'pgmigrations' then null else 'codes' end;
begin
  if tg_op = 'INSERT' then
    insert into public.history (table_name, operation, new_row) select tg_table_name, tg_op, to_jsonb(n) - 'key_hash' from new_rows n;
  elsif tg_op = 'DELETE' then
    insert into public.history (table_name, operation, old_row) select tg_table_name, tg_op, to_jsonb(o) - 'key_hash' from old_rows o;
  elsif tg_op = 'UPDATE' then
    -- Both sets hold the same rows in the same order
    insert into public.history (table_name, operation, old_row, new_row)
    select tg_table_name, tg_op, o.whole - 'key_hash', n.whole - 'key_hash'
      from (select to_jsonb(r) as whole, row_number() over () as at from old_rows r) o
      join (select to_jsonb(r) as whole, row_number() over () as at from new_rows r) n using (at)
     where o.whole is distinct from n.whole; -- including the hash, so that a replaced key is recorded
  elsif current_setting('transaction_isolation') <> 'read committed' then
    -- An older snapshot does not see every row that would be removed
    raise exception 'TRUNCATE of % needs the isolation level READ COMMITTED: otherwise the record of changes would lack rows', tg_table_name;
  else
    execute format('insert into public.history (table_name, operation, old_row) select %L, %L, to_jsonb(r) - ''key_hash'' from %I.%I r',
      tg_table_name, tg_op, tg_table_schema, tg_table_name);
  end if;
  get diagnostics changed = row_count;
  if changed > 0 and changed_topic is not null then
    -- One stamp for each transaction: thousands of versions of one row would make thousands of statements slow
    insert into public.revision as r (topic) values (changed_topic) on conflict (topic) do update
      set (stamp, changed_at, transaction_id) = (excluded.stamp, excluded.changed_at, excluded.transaction_id)
      where (r.changed_at, r.transaction_id) <> (excluded.changed_at, excluded.transaction_id);
  end if;
  return null;
end $$;
revoke execute on function record_change from public;

-- The triggers that have to be there, and what is wrong with them now.
create view trigger_fault as
  select w.table_name, w.trigger_name, case when t.oid is null then 'is missing' else 'is switched off' end as fault
  from (
    select table_name, 'record_' || operation as trigger_name
      from unnest(array['code_list', 'code_list_value', 'area_property', 'communication_code', 'api_key', 'pgmigrations']) as table_name,
        unnest(array['insert', 'update', 'delete', 'truncate']) as operation
    union all values ('code_list_value', 'append'), ('area_property', 'append')
  ) w
  left join pg_trigger t on t.tgrelid = to_regclass('public.' || w.table_name) and t.tgname = w.trigger_name and not t.tgisinternal
    and t.tgfoid = to_regproc('public.' || case w.trigger_name when 'append' then 'append_' || w.table_name else 'record_change' end)
  where t.oid is null or t.tgenabled <> 'A'
  order by 1, 2;

do $$
declare name text;
begin
  foreach name in array array['code_list', 'code_list_value', 'area_property', 'communication_code', 'api_key', 'pgmigrations'] loop
    execute format('create trigger record_insert after insert on %I referencing new table as new_rows for each statement execute function record_change()', name);
    execute format('create trigger record_update after update on %I referencing old table as old_rows new table as new_rows for each statement execute function record_change()', name);
    execute format('create trigger record_delete after delete on %I referencing old table as old_rows for each statement execute function record_change()', name);
    execute format('create trigger record_truncate before truncate on %I for each statement execute function record_change()', name);
  end loop;
  -- Triggers fire also in a session with session_replication_role = replica, which some tools set to load data
  execute (select string_agg(format('alter table %I enable always trigger %I', table_name, trigger_name), ';') from trigger_fault);
end $$;

-- Down Migration

drop view trigger_fault, change_history;
do $$
declare name text;
begin
  foreach name in array array['code_list', 'code_list_value', 'area_property', 'communication_code', 'api_key', 'pgmigrations'] loop
    execute format('drop trigger record_insert on %1$I; drop trigger record_update on %1$I; drop trigger record_delete on %1$I; drop trigger record_truncate on %1$I', name);
  end loop;
end $$;
alter table code_list_value enable trigger append;
alter table area_property enable trigger append;
drop function record_change;
drop table history, revision;
