-- Up Migration

create view drift as
with key_of (table_name, columns) as (
  -- If you add a table to the history, add its key here, by a new migration. Otherwise its changes are never drift.
  values
    ('code_list', array['name']),
    ('code_list_value', array['code_list', 'value']),
    ('area_property', array['area', 'property']),
    ('communication_code', array['code_type', 'code']),
    ('api_key', array['id'])
),
-- A change is a migration's if its transaction also wrote pgmigrations, whatever the session says about itself.
migration as (
  select transaction_id, begun_at from history where table_name = 'pgmigrations'
),
-- The row before a change and the row after it. Both have the same key, unless the change is an update of the key.
side as (
  select
    id,
    table_name,
    (transaction_id, begun_at) in (select transaction_id, begun_at from migration) as is_migration,
    array(select content ->> column_name from pg_catalog.unnest(columns) as column_name) as key
  from history
  join key_of using (table_name)
  cross join pg_catalog.unnest(array[old_row, new_row]) as content
  where content is not null
),
-- The last change by which a migration wrote the row with this key. It is null if no migration wrote the row.
compared as (
  select id, is_migration, max(id) filter (where is_migration) over (partition by table_name, key) as last_by_migration
  from side
)
select case table_name when 'api_key' then 'keys' else 'codes' end as topic, history.*
from history
-- A change that renamed a row has two keys in `compared`. It stays until migrations have written both.
where id in (select id from compared where not is_migration and id > coalesce(last_by_migration, 0));

comment on view drift is 'Changes of codes and keys that no migration made, and that no later migration has written again';

-- Down Migration

drop view drift;
