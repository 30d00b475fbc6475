// Names, codes and clients with characters that nobody sees or types. New ones are refused; those that were there are
// served as they are, so this is a warning.
import { type Client, escapeLiteral } from 'pg';
import { removeInvisible, showInvisible, splitAtInvisible } from '../lists/characters.js';
import { type Finding, asOwner, ok, warning } from './finding.js';

const MAX_SHOWN_ROWS = 20;

interface Column {
  readonly table: string;
  readonly column: string;
  readonly key: readonly string[];
  readonly condition: string;
}

const COLUMNS: readonly Column[] = [
  {
    table: 'code_list_value',
    column: 'value',
    key: ['code_list', 'value'],
    condition: 'not is_visible(value)',
  },
  {
    table: 'communication_code',
    column: 'code_type',
    key: ['code_type', 'code'],
    condition: 'not is_visible(code_type)',
  },
  {
    table: 'communication_code',
    column: 'code',
    key: ['code_type', 'code'],
    condition: 'not is_visible(code)',
  },
  {
    table: 'api_key',
    column: 'client',
    key: ['id'],
    condition: 'not is_visible(client) and revoked_at is null',
  },
];

interface FoundName {
  readonly column: Column;
  readonly text: string;
  /** The fields of the row's key, in the order of its columns. */
  readonly key: readonly string[];
}

export async function examineCharacters(client: Client): Promise<Finding> {
  const found: FoundName[] = [];
  for (const column of COLUMNS) found.push(...(await findNames(client, column)));
  if (found.length === 0) return ok('all names, codes and clients can be seen and typed');
  const shown = found.slice(0, MAX_SHOWN_ROWS);
  const names = shown.map(
    ({ column, text }) => `${column.table}.${column.column} ${showInvisible(JSON.stringify(text))}`,
  );
  if (found.length > shown.length) names.push(`and ${found.length - shown.length} more`);
  const advice = `Tell the callers, then rename each. ${asOwner(shown.map(renamingOf))}`;
  return warning(`nobody sees or types all of ${names.join(', ')}`, advice);
}

async function findNames(client: Client, column: Column): Promise<FoundName[]> {
  const keyTexts = column.key.map((name) => `${name}::text`);
  const { rows } = await client.query<Pick<FoundName, 'text' | 'key'>>(
    `select ${column.column} as text, array[${keyTexts.join(', ')}] as key
       from public.${column.table} where ${column.condition} order by key`,
  );
  return rows.map(({ text, key }) => ({ column, text, key }));
}

/** PostgreSQL refuses the new name where a row has it already: then one of the two has to go. */
function renamingOf({ column, text, key }: FoundName): string {
  const { table, column: name, key: keyNames } = column;
  const row = `(${keyNames.join(', ')}) = (${key.map(literalOf).join(', ')})`;
  const renamed = removeInvisible(text);
  if (renamed === '') return `delete from public.${table} where ${row};`;
  return `update public.${table} set ${name} = ${literalOf(renamed)} where ${row};`;
}

/** In a form that people can read and paste: `'A' || chr(8203) || 'B'`. */
function literalOf(text: string): string {
  const parts = splitAtInvisible(text).map(({ part, isInvisible }) =>
    isInvisible ? `chr(${part.codePointAt(0)})` : escapeLiteral(part),
  );
  return parts.join(' || ');
}
