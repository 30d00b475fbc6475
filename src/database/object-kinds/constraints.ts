/**
 * All constraints of tables, with the statements that make them. Whether PostgreSQL has checked the rows that were
 * there (`not valid`) is not compared, since somebody may have them checked later.
 */
const DESCRIBED_CONSTRAINTS = `
  select
    made.oid,
    made.conname as name,
    made.conrelid::regclass as table_name,
    made.contype as kind,
    made.conindid as used_index,
    replace(pg_get_constraintdef(made.oid), ' NOT VALID', '') as definition,
    format('alter table public.%s add constraint %I %s;',
      made.conrelid::regclass, made.conname, pg_get_constraintdef(made.oid)) as creation,
    format('alter table public.%s drop constraint if exists %I',
      made.conrelid::regclass, made.conname) as removal
  from pg_constraint as made
  where made.connamespace = 'public'::regnamespace and made.conrelid <> 0`;

/**
 * Primary keys, unique constraints and checks. Foreign keys that need such a constraint go with it, so its remedy makes
 * them, too.
 */
export const CONSTRAINTS = `
  with described as (${DESCRIBED_CONSTRAINTS})
  select
    format('constraint %s of %s', own.name, own.table_name) as name,
    own.definition,
    array[own.removal || ' cascade;', own.creation] || array(
      select step.statement
      from described as foreign_key,
        unnest(array[foreign_key.removal || ';', foreign_key.creation]) with ordinality as step (statement, place)
      where foreign_key.kind = 'f' and foreign_key.used_index = own.used_index and own.used_index <> 0
      order by foreign_key.name, step.place
    ) as remedy,
    false as "isOff"
  from described as own
  where own.kind in ('p', 'u', 'c')
  order by name`;

export const FOREIGN_KEYS = `
  with described as (${DESCRIBED_CONSTRAINTS})
  select
    format('constraint %s of %s', own.name, own.table_name) as name,
    own.definition,
    array[own.removal || ';', own.creation] as remedy,
    false as "isOff"
  from described as own
  where own.kind = 'f'
  order by name`;
