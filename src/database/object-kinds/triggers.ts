/** Triggers of tables. When one fires is part of its definition. */
export const TRIGGERS = `
  with described as (
    select
      trigger.tgname as name,
      owner_table.relname as table_name,
      pg_get_triggerdef(trigger.oid) as creation,
      trigger.tgenabled = 'D' as is_off,
      case trigger.tgenabled
        when 'A' then 'enable always'
        when 'R' then 'enable replica'
        when 'O' then 'enable'
        else 'disable'
      end as firing
    from pg_trigger as trigger
    join pg_class as owner_table on owner_table.oid = trigger.tgrelid
    where owner_table.relnamespace = 'public'::regnamespace and not trigger.tgisinternal
  )
  select
    format('trigger %s of %s', name, table_name) as name,
    format('%s, %s', creation, firing) as definition,
    array[
      format('drop trigger if exists %I on public.%I;', name, table_name),
      creation || ';',
      format('alter table public.%I %s trigger %I;', table_name, firing, name)
    ] as remedy,
    is_off as "isOff"
  from described
  order by name`;
