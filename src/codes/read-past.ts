// What was served at a moment in the past: the present rows, with all later changes undone, the last one first. So it needs the record of
// changes only from that moment on, and only the columns that it knows.
import type { EntityManager } from 'typeorm';
import { AreaProperty } from '../database/entities/area-property.entity.js';
import { CodeListValue } from '../database/entities/code-list-value.entity.js';
import { CommunicationCode } from '../database/entities/communication-code.entity.js';
import { type CodeRows, assertServable, recordOf } from './code-rows.js';

/** A row as its entity, or as the JSON of the record. */
type Row = Readonly<Record<string, unknown>>;

interface Change {
  readonly table: string;
  readonly oldRow: Row | null;
  readonly newRow: Row | null;
}

/** A change counts from when its statement ran. @param moment in milliseconds since the epoch */
export async function readPast(manager: EntityManager, moment: number): Promise<CodeRows> {
  const changes = await manager.query<Change[]>(
    `select table_name as "table", old_row as "oldRow", new_row as "newRow" from public.history
     where changed_at > $1 and table_name = any ($2) order by id desc`,
    [new Date(moment).toISOString(), Object.keys(KEYS)],
  );
  const tables = {
    area_property: keyed(
      'area_property',
      (await manager.find(AreaProperty)).map(columnsOfProperty),
    ),
    code_list_value: keyed(
      'code_list_value',
      (await manager.find(CodeListValue)).map(columnsOfValue),
    ),
    communication_code: keyed(
      'communication_code',
      (await manager.find(CommunicationCode)).map(columnsOfCode),
    ),
  };
  for (const { table, oldRow, newRow } of changes) {
    const rows = tables[table as Table];
    if (newRow) rows.delete(keyOf(table as Table, newRow));
    if (oldRow) rows.set(keyOf(table as Table, oldRow), oldRow);
  }
  const rows = rowsOf(tables);
  assertServable(rows);
  return rows;
}

/** When the record of changes begins, in milliseconds since the epoch, or undefined if it is empty. */
export async function beginOfRecord(manager: EntityManager): Promise<number | undefined> {
  const [row] = await manager.query<{ begin: number | null }[]>(
    'select (extract(epoch from min(changed_at)) * 1000)::float8 as begin from public.history',
  );
  return row?.begin ?? undefined;
}

const KEYS = {
  area_property: ['area', 'property'],
  code_list_value: ['code_list', 'value'],
  communication_code: ['code_type', 'code'],
} as const;
type Table = keyof typeof KEYS;

const keyOf = (table: Table, row: Row): string =>
  JSON.stringify(KEYS[table].map((name) => row[name]));

const keyed = (table: Table, rows: readonly Row[]): Map<string, Row> =>
  new Map(rows.map((row) => [keyOf(table, row), row]));

const columnsOfProperty = ({ codeList, ...row }: AreaProperty): Row => ({
  ...row,
  code_list: codeList,
});
const columnsOfValue = ({ codeList, validFrom, validUntil, ...row }: CodeListValue): Row => ({
  ...row,
  code_list: codeList,
  valid_from: validFrom,
  valid_until: validUntil,
});
const columnsOfCode = ({ codeType, validFrom, validUntil, ...row }: CommunicationCode): Row => ({
  ...row,
  code_type: codeType,
  valid_from: validFrom,
  valid_until: validUntil,
});

function rowsOf(tables: Record<Table, Map<string, Row>>): CodeRows {
  const types = new Map<string, string>();
  return {
    properties: sorted(tables.area_property, ['area', 'position']).map((row) => ({
      area: String(row['area']),
      property: String(row['property']),
      codeList: String(row['code_list']),
    })),
    values: sorted(tables.code_list_value, ['code_list', 'position']).map((row) => ({
      codeList: String(row['code_list']),
      value: String(row['value']),
      ...validityOf(row),
    })),
    records: sorted(tables.communication_code, ['code_type', 'code']).map((row) =>
      recordOf(
        {
          codeType: String(row['code_type']),
          code: String(row['code']),
          description: String(row['description']),
          ...validityOf(row),
        },
        types,
      ),
    ),
  };
}

const validityOf = (row: Row) => ({
  validFrom: momentOf(row['valid_from'], -Infinity),
  validUntil: momentOf(row['valid_until'], Infinity),
});

/** Of an entity it is a number already, of the record a text of RFC 3339. */
function momentOf(value: unknown, absent: number): number {
  if (typeof value === 'number') return value;
  return typeof value === 'string' ? Math.floor(Date.parse(value)) : absent;
}

/** In code-point order, as collation "C" has it, and by number. */
const sorted = (rows: Map<string, Row>, by: readonly [string, string]): Row[] =>
  [...rows.values()].sort((a, b) => compare(a[by[0]], b[by[0]]) || compare(a[by[1]], b[by[1]]));

const compare = (one: unknown, other: unknown): number =>
  typeof one === 'number'
    ? one - Number(other)
    : Buffer.compare(Buffer.from(String(one)), Buffer.from(String(other)));
