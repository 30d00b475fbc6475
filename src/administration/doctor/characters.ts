// Names, codes and clients with characters that nobody sees or types. New ones are refused; those that were there are
// served as they are, so this is a warning.
import { type Client, escapeLiteral } from 'pg';
import { invisibleCharactersOf, removeInvisible, showInvisible, splitAtInvisible } from '../lists/characters.js';
import { type Finding, asOwner, ok, warning } from './finding.js';

const MAX_SHOWN_ROWS = 20;

/** A table with columns of names. */
interface NamedTable {
  readonly table: string;
  readonly key: readonly string[];
  /** The columns that have to be visible. */
  readonly names: readonly string[];
  /** Of the rows that count, as SQL. */
  readonly condition: string;
  /** What a name becomes of which nothing would be left, as SQL. Without it the row has to go. */
  readonly substitute?: string;
}

const TABLES: readonly NamedTable[] = [
  {
    table: 'code_list_value',
    key: ['code_list', 'value'],
    names: ['value'],
    condition: 'true',
  },
  {
    table: 'communication_code',
    key: ['code_type', 'code'],
    names: ['code_type', 'code'],
    condition: 'true',
  },
  {
    table: 'api_key',
    key: ['id'],
    names: ['client'],
    condition: 'revoked_at is null',
    substitute: `'unnamed ' || id`, // a key is never deleted for its client's name: calls are made with it
  },
];

/** A row with at least one name that has invisible characters. */
interface FoundRow {
  readonly table: NamedTable;
  /** The fields of the row's key, in the order of its columns. */
  readonly key: readonly string[];
  readonly invisible: readonly FoundName[];
}

interface FoundName {
  readonly column: string;
  readonly text: string;
}

export async function examineCharacters(client: Client): Promise<Finding> {
  const found: FoundRow[] = [];
  for (const table of TABLES) found.push(...(await findRows(client, table)));
  if (found.length === 0) return ok('all names, codes and clients can be seen and typed');
  const shown = found.slice(0, MAX_SHOWN_ROWS);
  const names = shown.flatMap(describeNames);
  const leftOut = found.length - shown.length;
  if (leftOut > 0) names.push(`and those of ${leftOut} more rows`);
  const corrections = shown.map(correctionOf);
  const advice = 'Tell the callers, then rename each, and delete those of which nothing is left.';
  return warning(`nobody sees or types all of ${names.join(', ')}`, `${advice} ${asOwner(corrections)}`);
}

async function findRows(client: Client, table: NamedTable): Promise<FoundRow[]> {
  const { key, names, condition } = table;
  const isInvisible = names.map((name) => `not is_visible(${name})`).join(' or ');
  const { rows } = await client.query<{ key: string[]; texts: string[] }>(
    `select ${textsOf(key)} as key, ${textsOf(names)} as texts
       from public.${table.table}
       where (${isInvisible}) and ${condition}
       order by key`,
  );
  return rows.map(({ key: fields, texts }) => ({
    table,
    key: fields,
    invisible: invisibleNames(names, texts),
  }));
}

function textsOf(columns: readonly string[]): string {
  const texts = columns.map((column) => `${column}::text`);
  return `array[${texts.join(', ')}]`;
}

function invisibleNames(columns: readonly string[], texts: readonly string[]): FoundName[] {
  const names = columns.map((column, index) => ({ column, text: texts[index] ?? '' }));
  return names.filter(({ text }) => invisibleCharactersOf(text).length > 0);
}

function describeNames({ table: { table }, invisible }: FoundRow): string[] {
  return invisible.map(({ column, text }) => `${table}.${column} ${showInvisible(JSON.stringify(text))}`);
}

/**
 * One statement for all names of a row: with one of them left invisible, PostgreSQL would refuse the row. It also
 * refuses a name that another row has already: then one of the two has to go.
 */
function correctionOf({ table, key, invisible }: FoundRow): string {
  const row = `(${table.key.join(', ')}) = (${key.map(literalOf).join(', ')})`;
  const assignments: string[] = [];
  for (const { column, text } of invisible) {
    const visible = removeInvisible(text);
    const name = visible === '' ? table.substitute : literalOf(visible);
    if (name === undefined) return `delete from public.${table.table} where ${row};`;
    assignments.push(`${column} = ${name}`);
  }
  return `update public.${table.table} set ${assignments.join(', ')} where ${row};`;
}

/** In a form that people can read and paste: `'A' || chr(8203) || 'B'`. */
function literalOf(text: string): string {
  const parts = splitAtInvisible(text).map(({ part, isInvisible }) =>
    isInvisible ? `chr(${part.codePointAt(0)})` : escapeLiteral(part),
  );
  return parts.join(' || ');
}
