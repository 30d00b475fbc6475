// A move by logical replication, or a restore of tables alone, leaves sequences behind: the next insert would get a
// number that is taken.
import type { Client } from 'pg';
import { type Finding, asOwner, fault, ok } from './finding.js';

/** Those that give a column its numbers, and that this role may read. */
const SEQUENCES = `
  select
    sequence.relname as name,
    format('public.%I', sequence.relname) as sequence,
    format('public.%I', owner.relname) as table,
    format('%I', attname) as column
  from pg_class as sequence
  join pg_depend on objid = sequence.oid and classid = 'pg_class'::regclass and deptype in ('a', 'i')
  join pg_class as owner on owner.oid = refobjid
  join pg_attribute on attrelid = owner.oid and attnum = refobjsubid
  where sequence.relkind = 'S' and sequence.relnamespace = 'public'::regnamespace
    and has_table_privilege(sequence.oid, 'select')
  order by name`;

interface Sequence {
  readonly name: string;
  /** With schema and quotes, like the others. */
  readonly sequence: string;
  readonly table: string;
  readonly column: string;
}

export async function examineSequences(client: Client): Promise<Finding> {
  const { rows: sequences } = await client.query<Sequence>(SEQUENCES);
  const behind: Sequence[] = [];
  for (const sequence of sequences) if (await isBehind(client, sequence)) behind.push(sequence);
  if (behind.length === 0) return ok('all are ahead of their tables');
  const names = behind.map(({ name }) => name).join(', ');
  return fault(`behind their tables: ${names}`, asOwner(behind.map(settingOf)));
}

async function isBehind(client: Client, { sequence, table, column }: Sequence): Promise<boolean> {
  const { rows } = await client.query<{ isBehind: boolean | null }>(
    `select max(${column}) >= (
       select case when is_called then last_value + 1 else last_value end from ${sequence}
     ) as "isBehind"
     from ${table}`,
  );
  return rows[0]?.isBehind ?? false; // null: the table is empty
}

function settingOf({ sequence, table, column }: Sequence): string {
  return `select setval('${sequence}', (select max(${column}) from ${table}));`;
}
