/**
 * Columns that must hold a value: without it a `null` in `position` would move a value to the end of its list. Those
 * of primary keys are left out, since PostgreSQL keeps them so as long as there is the key.
 */
export const REQUIRED_COLUMNS = `
  select
    format('column %s of %s', required.attname, required.attrelid::regclass) as name,
    'NOT NULL' as definition,
    array[format('alter table public.%s alter column %I set not null;',
      required.attrelid::regclass, required.attname)] as remedy,
    false as "isOff"
  from pg_attribute as required
    join pg_class as owning on owning.oid = required.attrelid
  where owning.relnamespace = 'public'::regnamespace and owning.relkind = 'r'
    and required.attnum > 0 and required.attnotnull
    and not exists (
      select from pg_constraint as key
      where key.conrelid = owning.oid and key.contype = 'p' and required.attnum = any (key.conkey)
    )
  order by name`;
