-- Up Migration

-- Who changed what, and when. The role order_lookup_auditor owns these tables (deploy/database/1-roles.sql), so the role that runs
-- migrations cannot rewrite them.
create table recorded_transaction (
  begun_at timestamptz not null default now(),
  transaction_id xid8 not null default pg_current_xact_id(),
  -- Time of the commit, exact to less than a second
  committed_at timestamptz,
  database_user text not null default session_user,
  application text not null default coalesce(current_setting('application_name', true), ''),
  -- The migration that was applied or undone, and the person who ran it: from the session's settings order_lookup.migration and
  -- order_lookup.person
  migration text default nullif(current_setting('order_lookup.migration', true), ''),
  person text default nullif(current_setting('order_lookup.person', true), ''),
  constraint recorded_transaction_is_unique primary key (begun_at, transaction_id)
);
comment on table recorded_transaction is 'Every transaction that changed a code or a key; written by triggers only';

create table history (
  id bigint not null generated always as identity constraint history_id_is_unique primary key,
  begun_at timestamptz not null default now(),
  transaction_id xid8 not null default pg_current_xact_id(),
  table_name text not null,
  operation text not null,
  old_row jsonb,
  new_row jsonb
);
comment on table history is 'Every change of a code or a key; written by triggers only. Rows older than a year may be deleted';
create index history_by_transaction on history (begun_at, transaction_id);

create view change_history as
  select h.id, t.committed_at, h.transaction_id, t.database_user, t.application, t.migration, t.person, h.table_name, h.operation, h.old_row, h.new_row
  from history h left join recorded_transaction t using (begun_at, transaction_id) order by h.id;

-- A deferred constraint trigger runs last before the commit.
create function note_commit() returns trigger language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  update public.recorded_transaction set committed_at = clock_timestamp()
   where (begun_at, transaction_id) = (new.begun_at, new.transaction_id);
  return null;
end $$;
create constraint trigger note_commit after insert or update on recorded_transaction deferrable initially deferred
  for each row when (new.committed_at is null) execute function note_commit();

create function note_transaction() returns void language plpgsql as $$
begin
  insert into public.recorded_transaction default values on conflict do nothing;
  if found then
    -- After "set constraints all immediate" the trigger ran at once, and took the time too early
    set constraints public.note_commit deferred;
    update public.recorded_transaction set committed_at = null
     where (begun_at, transaction_id) = (now(), pg_current_xact_id()) and committed_at is not null;
  end if;
end $$;

-- Runs once for each statement and handles its rows as a set, so that loading many codes costs little. Hashes of keys are left out.
create function record_change() returns trigger language plpgsql security definer
  set search_path = pg_catalog, public, pg_temp set timezone = 'UTC' as $$
declare
  changed bigint;
  extent text := 'records';
begin
  if tg_op = 'INSERT' then
    insert into public.history (table_name, operation, new_row) select tg_table_name, tg_op, to_jsonb(n) - 'key_hash' from new_rows n;
  elsif tg_op = 'DELETE' then
    insert into public.history (table_name, operation, old_row) select tg_table_name, tg_op, to_jsonb(o) - 'key_hash' from old_rows o;
  elsif tg_op = 'UPDATE' then
    -- Both sets hold the same rows in the same order
    insert into public.history (table_name, operation, old_row, new_row)
    select tg_table_name, tg_op, o.old_row, n.new_row
      from (select to_jsonb(r) - 'key_hash' as old_row, to_jsonb(r) as whole, row_number() over () as at from old_rows r) o
      join (select to_jsonb(r) - 'key_hash' as new_row, to_jsonb(r) as whole, row_number() over () as at from new_rows r) n using (at)
     where o.whole is distinct from n.whole; -- including the hash, so that a replaced key is recorded
  else
    -- One row for the statement, and one for each row that it removes
    execute format(
      'insert into public.history (table_name, operation, old_row)
       select %1$L, %2$L, null union all (select %1$L, %2$L, to_jsonb(r) - ''key_hash'' from %3$I.%1$I r)',
      tg_table_name, tg_op, tg_table_schema);
  end if;
  get diagnostics changed = row_count;
  if changed = 0 then
    return null;
  end if;
  perform public.note_transaction();
  if tg_table_name = 'communication_code' then
    if tg_op = 'TRUNCATE' or changed > 1000 then
      extent := 'everything'; -- listing so many codes would cost more than reading everything
    elsif tg_op = 'INSERT' then
      insert into public.changed_code (code_type, code) select code_type, code from new_rows;
    elsif tg_op = 'DELETE' then
      insert into public.changed_code (code_type, code) select code_type, code from old_rows;
    else
      insert into public.changed_code (code_type, code) select code_type, code from old_rows union select code_type, code from new_rows;
    end if;
  end if;
  perform public.note_change(tg_argv[0], extent);
  return null;
end $$;

-- The state of each table on which a complete record depends: its oid and file, its columns, and its triggers. Disabling a trigger and
-- enabling it again changes its xmin.
create view record_state as
  select c.relname::text as table_name,
    concat_ws(' ', c.oid, c.relfilenode,
      (select string_agg(a.attnum::text, ',' order by a.attname) from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped),
      (select string_agg(concat_ws(' ', t.tgname, t.tgenabled, t.xmin, hashtextextended(f.prosrc, 0)), ',' order by t.tgname)
         from pg_trigger t join pg_proc f on f.oid = t.tgfoid where t.tgrelid = c.oid and not t.tgisinternal)) as state
  from pg_class c
  where c.relnamespace = to_regnamespace('public') and c.relkind = 'r'
    and c.relname = any (array['code_list', 'code_list_value', 'area_property', 'communication_code', 'api_key',
      'revision', 'changed_code', 'recorded_transaction', 'history']);

-- The state of each table when the record was last known to be complete.
create table recorded_table (
  table_name text constraint recorded_table_is_unique primary key,
  state text not null
);
comment on table recorded_table is 'The state of each table in which the record of changes is complete; written by functions only';

-- Tables for which the record of changes may be incomplete: triggers were disabled, the table was rewritten, or history was deleted.
create view record_gap as
  select r.table_name, r.state as expected, s.state as actual
  from recorded_table r left join record_state s using (table_name) where s.state is distinct from r.state;

-- What the service compares: two contents of a topic are the same if all three columns are equal.
create view content_identity as
  select topic, sum(transactions)::text as transactions, bit_xor(stamp)::text as stamps,
    (select hashtextextended(string_agg(table_name || ' ' || state, ',' order by table_name), 0)::text from record_state) as state
  from revision group by topic;

-- TRUNCATE gives a table a new file, but record_truncate has recorded it.
create function acknowledge_truncation() returns trigger language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  update public.recorded_table r set state = s.state from public.record_state s where (r.table_name, s.table_name) = (tg_table_name, tg_table_name);
  return null;
end $$;

-- History that is older than a year may be deleted. Deleting younger rows is recorded as a gap.
create function guard_history() returns trigger language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if tg_op = 'DELETE' then
    perform from deleted where begun_at > now() - interval '1 year' limit 1;
    if not found then
      return null;
    end if;
  end if;
  update public.recorded_table set state = format('%s by %s at %s', tg_op, session_user, now()) where table_name = tg_table_name;
  return null;
end $$;

do $$
declare
  name text;
  topic text;
begin
  foreach name in array array['code_list', 'code_list_value', 'area_property', 'communication_code', 'api_key'] loop
    topic := case name when 'api_key' then 'keys' else 'codes' end;
    execute format('create trigger record_insert after insert on %I referencing new table as new_rows for each statement execute function record_change(%L)', name, topic);
    execute format('create trigger record_update after update on %I referencing old table as old_rows new table as new_rows for each statement execute function record_change(%L)', name, topic);
    execute format('create trigger record_delete after delete on %I referencing old table as old_rows for each statement execute function record_change(%L)', name, topic);
    execute format('create trigger record_truncate before truncate on %I for each statement execute function record_change(%L)', name, topic);
    execute format('create trigger acknowledge_truncation after truncate on %I for each statement execute function acknowledge_truncation()', name);
  end loop;
  foreach name in array array['recorded_transaction', 'history'] loop
    execute format('create trigger guard_delete after delete on %I referencing old table as deleted for each statement execute function guard_history()', name);
    execute format('create trigger guard_truncate after truncate on %I for each statement execute function guard_history()', name);
  end loop;
  create trigger guard_update after update on history for each statement execute function guard_history();
  -- Triggers fire also in a session with session_replication_role = replica, which some tools set to load data
  foreach name in array array['code_list', 'code_list_value', 'area_property', 'communication_code', 'api_key',
      'revision', 'changed_code', 'recorded_transaction', 'history'] loop
    execute (select string_agg(format('alter table %I enable always trigger %I', name, tgname), ';')
      from pg_trigger where tgrelid = name::regclass and not tgisinternal);
  end loop;
end $$;

-- Makes every replica read everything. Writes the gaps into the history, and takes the record as complete from now on. Each migration run
-- ends with it.
create function raise_every_topic() returns void language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  insert into public.history (table_name, operation, old_row, new_row)
  select table_name, 'GAP', jsonb_build_object('state', expected), jsonb_build_object('state', actual) from public.record_gap;
  if found then
    perform public.note_transaction();
  end if;
  update public.recorded_table r set state = s.state from public.record_state s where s.table_name = r.table_name and s.state <> r.state;
  perform public.note_change(topic, 'everything') from unnest(array['codes', 'keys']) as topic;
end $$;

insert into recorded_table (table_name, state) select table_name, state from record_state;
select raise_every_topic();
-- Otherwise a role that may create tables could attach these functions to its own table and write history, and any role could make every
-- replica read everything.
revoke execute on function note_commit, note_transaction, record_change, acknowledge_truncation, guard_history, raise_every_topic from public;
-- With the roles of production, order_lookup_auditor becomes the owner of the record of changes.
do $$ begin
  if to_regprocedure('public.hand_over_record()') is not null then
    perform public.hand_over_record();
  end if;
end $$;

-- Down Migration

drop view content_identity, record_gap, record_state, change_history;
do $$
declare name text;
begin
  foreach name in array array['code_list', 'code_list_value', 'area_property', 'communication_code', 'api_key'] loop
    execute format('drop trigger record_insert on %1$I; drop trigger record_update on %1$I; drop trigger record_delete on %1$I;
      drop trigger record_truncate on %1$I; drop trigger acknowledge_truncation on %1$I', name);
  end loop;
end $$;
drop table recorded_table, history, recorded_transaction;
drop function raise_every_topic, guard_history, acknowledge_truncation, record_change, note_transaction, note_commit;
