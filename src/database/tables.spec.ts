import { afterAll, describe, expect, it } from '@jest/globals';
import { createDatabase } from '../../test/support/database.js';
import { API_KEY, CODE_LIST_VALUE, TABLES, describeTable } from './tables.js';

const database = await createDatabase();
afterAll(() => database.drop());

/** The columns of a table in PostgreSQL's catalog. The columns of the key come first. */
const COLUMNS = `
  select attribute.attname as name,
    format_type(attribute.atttypid, attribute.atttypmod) as type,
    coalesce(attribute.attnum = any(key.conkey), false) as "isKey",
    not attribute.attnotnull as "isNullable"
  from pg_attribute attribute
  left join pg_constraint key on key.conrelid = attribute.attrelid and key.contype = 'p'
  where attribute.attrelid = $1::text::regclass and attribute.attnum > 0 and not attribute.attisdropped
  order by array_position(key.conkey, attribute.attnum), attribute.attnum`;

interface CatalogColumn {
  readonly name: string;
  readonly type: string;
  readonly isKey: boolean;
  readonly isNullable: boolean;
}

const SHORT_TYPES: Record<string, string> = { 'timestamp with time zone': 'timestamptz', integer: 'int' };

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name.localeCompare(other.name);
}

describe.each(TABLES)('$name', (table) => {
  it('has the same key, columns, types and nullable columns in the database as in its entity', async () => {
    const found = await database.query<CatalogColumn>(COLUMNS, [table.name]);
    const known = found.filter(({ name }) => !(table === API_KEY && name === 'created_at')); // not in the entity
    const expected = known.map((column) => ({
      ...column,
      property: expect.any(String),
      type: SHORT_TYPES[column.type] ?? column.type,
    }));
    // Sorted, because a column of a later migration is last in the catalog, but before inherited columns in the entity
    expect(table.columns.toSorted(byName)).toEqual(expected.toSorted(byName));
    expect(table.key).toEqual(known.filter(({ isKey }) => isKey).map(({ name }) => name));
  });
});

it('describes a table: the columns of the key come first, and inherited columns last', () => {
  expect(CODE_LIST_VALUE).toEqual({
    name: 'code_list_value',
    columns: [
      { name: 'code_list', property: 'codeList', type: 'text', isKey: true, isNullable: false },
      { name: 'value', property: 'value', type: 'text', isKey: true, isNullable: false },
      { name: 'position', property: 'position', type: 'int', isKey: false, isNullable: false },
      { name: 'valid_from', property: 'validFromMs', type: 'timestamptz', isKey: false, isNullable: true },
      { name: 'valid_until', property: 'validUntilMs', type: 'timestamptz', isKey: false, isNullable: true },
    ],
    key: ['code_list', 'value'],
    order: ['code_list collate "C"', 'position'],
  });
});

it('refuses a class without decorators', () => {
  expect(() => describeTable(class Other {})).toThrow("Other names no table: @Entity('…') is needed");
});
