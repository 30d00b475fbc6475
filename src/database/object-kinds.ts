/**
 * What is compared of a database, one statement for each kind of object, in the order in which they can be made. Each
 * statement gives rows of `DatabaseObject`, by name, and needs the session settings of `SETTINGS`.
 *
 * A definition has to be a fixed point: PostgreSQL prints the same after it has read its own print. So a dump and its
 * restore change nothing.
 */
export interface DatabaseObject {
  /** As people read it: `trigger append of code_list_value`. */
  readonly name: string;
  /** What is compared. */
  readonly definition: string;
  /** Statements by which the owner makes the object as it is here, whatever is there. */
  readonly remedy: readonly string[];
  /** Whether a trigger is switched off. */
  readonly isOff: boolean;
}

/** Whether everybody may execute a function is part of its definition. */
const FUNCTIONS = `
  select
    format('function %s', oid::regprocedure) as name,
    format('%s; %s', pg_get_functiondef(oid), access) as definition,
    array[pg_get_functiondef(oid) || ';', access] as remedy,
    false as "isOff"
  from pg_proc, lateral (
    select case
      when has_function_privilege('public', oid, 'execute')
        then format('grant execute on function public.%s to public;', oid::regprocedure)
      else format('revoke execute on function public.%s from public;', oid::regprocedure)
    end as access
  ) as rights
  where pronamespace = 'public'::regnamespace and prokind = 'f'
  order by name`;

/**
 * Primary keys, unique constraints and checks. Foreign keys go with the constraint that they need, so its remedy makes
 * them, too. Whether PostgreSQL has checked the rows that were there (`not valid`) is not compared.
 */
const CONSTRAINTS = `
  select
    format('constraint %s of %s', made.conname, made.conrelid::regclass) as name,
    replace(pg_get_constraintdef(made.oid), ' NOT VALID', '') as definition,
    array[
      format('alter table public.%s drop constraint if exists %I cascade;', made.conrelid::regclass, made.conname),
      format('alter table public.%s add constraint %I %s;', made.conrelid::regclass, made.conname,
        pg_get_constraintdef(made.oid))
    ] || array(
      select statement
      from pg_constraint, unnest(array[
        format('alter table public.%s drop constraint if exists %I;', conrelid::regclass, conname),
        format('alter table public.%s add constraint %I %s;', conrelid::regclass, conname, pg_get_constraintdef(oid))
      ]) with ordinality as statements (statement, place)
      where contype = 'f' and conindid = made.conindid
      order by conname, place
    ) as remedy,
    false as "isOff"
  from pg_constraint as made
  where connamespace = 'public'::regnamespace and conrelid <> 0 and contype in ('p', 'u', 'c')
  order by name`;

const FOREIGN_KEYS = `
  select
    format('constraint %s of %s', conname, conrelid::regclass) as name,
    pg_get_constraintdef(oid) as definition,
    array[
      format('alter table public.%s drop constraint if exists %I;', conrelid::regclass, conname),
      format('alter table public.%s add constraint %I %s;', conrelid::regclass, conname, pg_get_constraintdef(oid))
    ] as remedy,
    false as "isOff"
  from pg_constraint
  where connamespace = 'public'::regnamespace and contype = 'f'
  order by name`;

const TRIGGERS = `
  select
    format('trigger %s of %s', tgname, relname) as name,
    format('%s, %s', pg_get_triggerdef(pg_trigger.oid), state) as definition,
    array[
      format('drop trigger if exists %I on public.%I;', tgname, relname),
      pg_get_triggerdef(pg_trigger.oid) || ';',
      format('alter table public.%I %s trigger %I;', relname, state, tgname)
    ] as remedy,
    tgenabled = 'D' as "isOff"
  from pg_trigger
  join pg_class on pg_class.oid = tgrelid, lateral (
    select case tgenabled
      when 'A' then 'enable always'
      when 'R' then 'enable replica'
      when 'O' then 'enable'
      else 'disable'
    end as state
  ) as firing
  where relnamespace = 'public'::regnamespace and not tgisinternal
  order by name`;

const REVISION_ROWS = `
  select
    format('row %s of revision', topic) as name,
    topic as definition,
    array[format('insert into public.revision (topic) values (%L);', topic)] as remedy,
    false as "isOff"
  from public.revision
  order by name`;

/** No row where this database does not know the role: then its rights are not compared. */
const SERVICE_ROLE = `
  select oid
  from pg_roles
  where rolname = 'order_lookup_service' and (
    rolname = current_user
    or exists (
      select from pg_class, aclexplode(relacl) as granted
      where relnamespace = 'public'::regnamespace and granted.grantee = pg_roles.oid
    )
  )`;

/** What the service reads: tables, and the sequences by which the doctor sees whether a move left them behind. */
const SERVICE_READS = `
  select
    format('select on %s for the service', relname) as name,
    'granted' as definition,
    array[format('grant select on public.%I to order_lookup_service;', relname)] as remedy,
    false as "isOff"
  from pg_class
  left join (${SERVICE_ROLE}) as service on true
  where relnamespace = 'public'::regnamespace
    and relname in ('revision', 'area_property', 'code_list_value', 'communication_code', 'api_key',
      'history_id_seq', 'pgmigrations_id_seq')
    and coalesce(has_table_privilege(service.oid, pg_class.oid, 'select'), true)
  order by name`;

const SERVICE_EXECUTES = `
  select
    'execute on note_key_use for the service' as name,
    'granted' as definition,
    array['grant execute on function public.note_key_use to order_lookup_service;'] as remedy,
    false as "isOff"
  from pg_proc
  left join (${SERVICE_ROLE}) as service on true
  where pg_proc.oid = to_regproc('public.note_key_use')
    and coalesce(has_function_privilege(service.oid, pg_proc.oid, 'execute'), true)`;

export const OBJECT_KINDS: readonly string[] = [
  FUNCTIONS,
  CONSTRAINTS,
  FOREIGN_KEYS,
  TRIGGERS,
  REVISION_ROWS,
  SERVICE_READS,
  SERVICE_EXECUTES,
];

/** The role of the service reads, and writes by `note_key_use` alone. */
export const SURPLUS_PRIVILEGES = `
  select
    format('%s on %s for %s', privilege_type, relname, role_name) as name,
    array[format('revoke %s on public.%I from %s;', privilege_type, relname, role_name)] as remedy
  from pg_class, aclexplode(relacl) as granted, lateral (
    select case granted.grantee when 0 then 'public' else granted.grantee::regrole::text end as role_name
  ) as roles
  where relnamespace = 'public'::regnamespace and relkind in ('r', 'v') and privilege_type <> 'SELECT'
    and role_name in ('public', 'order_lookup_service')
  order by name`;
