-- Up Migration

create table history (
  id bigint not null generated always as identity constraint history_id_is_unique primary key,
  changed_at timestamptz not null default clock_timestamp(),
  transaction_id xid8 not null default pg_current_xact_id(),
  database_user text not null default session_user,
  application text not null default coalesce(current_setting('application_name', true), ''),
  table_name text not null,
  operation text not null,
  old_row jsonb,
  new_row jsonb
);
comment on table history is 'Every change to a code or a key, written by trigger alone';

-- For each statement, with its rows as sets, so that loading many codes costs little. Hashes of keys stay out.
create function record_history() returns trigger language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    insert into public.history (table_name, operation, new_row) select tg_table_name, tg_op, to_jsonb(n) - 'key_hash' from new_rows n;
  elsif tg_op = 'DELETE' then
    insert into public.history (table_name, operation, old_row) select tg_table_name, tg_op, to_jsonb(o) - 'key_hash' from old_rows o;
  elsif tg_op = 'UPDATE' then
    -- The rows of both sets come in the same order, one for one
    insert into public.history (table_name, operation, old_row, new_row)
    select tg_table_name, tg_op, o.old_row, n.new_row
      from (select to_jsonb(r) - 'key_hash' as old_row, to_jsonb(r) as whole, row_number() over () as at from old_rows r) o
      join (select to_jsonb(r) - 'key_hash' as new_row, to_jsonb(r) as whole, row_number() over () as at from new_rows r) n using (at)
     where o.whole is distinct from n.whole; -- with the hash, so that an exchanged key is on record
  else
    insert into public.history (table_name, operation) values (tg_table_name, tg_op);
  end if;
  return null;
end $$;
-- Whoever may create tables could otherwise write history by a table of their own.
revoke execute on function record_history from public;

do $$
declare name text;
begin
  foreach name in array array['code_list', 'code_list_value', 'area_property', 'communication_code', 'api_key'] loop
    execute format('create trigger record_insert after insert on %I referencing new table as new_rows for each statement execute function record_history()', name);
    execute format('create trigger record_update after update on %I referencing old table as old_rows new table as new_rows for each statement execute function record_history()', name);
    execute format('create trigger record_delete after delete on %I referencing old table as old_rows for each statement execute function record_history()', name);
    execute format('create trigger record_truncate after truncate on %I for each statement execute function record_history()', name);
  end loop;
end $$;

create view change_history as
  select id, changed_at, transaction_id, database_user, application, table_name, operation, old_row, new_row from history order by id;

-- Down Migration

drop view change_history;
do $$
declare name text;
begin
  foreach name in array array['code_list', 'code_list_value', 'area_property', 'communication_code', 'api_key'] loop
    execute format('drop trigger record_insert on %I; drop trigger record_update on %I; drop trigger record_delete on %I; drop trigger record_truncate on %I', name, name, name, name);
  end loop;
end $$;
drop function record_history;
drop table history;
