-- Up Migration

-- The doctor now checks the triggers without this view.
drop view trigger_fault;

-- The doctor no longer compares sequences with their tables: docs/upgrade.md has the statement for after a move.
do $$ begin
  if exists (select from pg_roles where rolname = 'order_lookup_service') then
    revoke select on sequence history_id_seq, pgmigrations_id_seq from order_lookup_service;
  end if;
end $$;

-- Down Migration

do $$ begin
  if exists (select from pg_roles where rolname = 'order_lookup_service') then
    grant select on sequence history_id_seq, pgmigrations_id_seq to order_lookup_service;
  end if;
end $$;

-- The view as 0002_record_changes made it
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
