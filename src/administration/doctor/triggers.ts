// The triggers by which a change gets a new revision, so that every replica reads it, and its row in the history.
import type { Client } from 'pg';
import { type Finding, asOwner, fault, ok } from './finding.js';

/**
 * Each trigger that is not there, or does not fire in every session, with the statement that mends it. Only `enable
 * always` fires also where a tool has set session_replication_role to replica to load data.
 */
const TRIGGER_FAULTS = `
  with expected (table_name, trigger_name, creation) as (
    select table_name, trigger_name, format(creation, table_name)
    from unnest(array[
      'code_list', 'code_list_value', 'area_property', 'communication_code', 'api_key', 'pgmigrations'
    ]) as table_name
    cross join (values
      ('record_insert', 'create trigger record_insert after insert on public.%I referencing new table as new_rows
        for each statement execute function public.record_change();'),
      ('record_update', 'create trigger record_update after update on public.%I
        referencing old table as old_rows new table as new_rows
        for each statement execute function public.record_change();'),
      ('record_delete', 'create trigger record_delete after delete on public.%I referencing old table as old_rows
        for each statement execute function public.record_change();'),
      ('record_truncate', 'create trigger record_truncate before truncate on public.%I
        for each statement execute function public.record_change();')
    ) as recording (trigger_name, creation)
    union all values
      ('pgmigrations', 'set_stamps', 'create trigger set_stamps before insert or delete on public.pgmigrations
        for each statement execute function public.set_stamps();')
  )
  select
    format('%s of %s %s', trigger_name, table_name,
      case when trigger.oid is null then 'is missing' else 'is switched off' end) as fault,
    concat(
      case when trigger.oid is null then regexp_replace(creation, '\\s+', ' ', 'g') || E'\\n' end,
      format('alter table public.%I enable always trigger %I;', table_name, trigger_name)
    ) as remedy
  from expected
  left join pg_trigger as trigger
    on tgrelid = to_regclass('public.' || table_name) and tgname = trigger_name and not tgisinternal
  where trigger.oid is null or tgenabled <> 'A'
  order by table_name, trigger_name`;

export async function examineTriggers(client: Client): Promise<Finding> {
  const { rows } = await client.query<{ fault: string; remedy: string }>(TRIGGER_FAULTS);
  if (rows.length === 0) return ok('all that follow changes are there and enabled');
  return fault(rows.map((row) => row.fault).join(', '), asOwner(rows.map(({ remedy }) => remedy)));
}
