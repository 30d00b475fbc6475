// Reads everything that the answers are made of, through the repositories of one transaction.
import type { EntityManager } from 'typeorm';
import { AreaProperty, CodeListValue, CommunicationCode } from '../database/entities.js';
import { RefusedSnapshot } from '../snapshots/source.js';
import { type CodeRecord, type CodeRows, assertServable, recordOf } from './code-rows.js';

/** Records that are read at a time: some milliseconds of work. */
const PAGE = 500;
const LOCK = `lock table public.area_property, public.code_list_value, public.communication_code in access share mode`;

/** A snapshot that is older than a TRUNCATE or a rewrite of a table would see the table empty. So this is the first query of a transaction. */
export const lockTables = (manager: EntityManager): Promise<unknown> => manager.query(LOCK);

/**
 * The rows of all moments.
 * @throws RefusedSnapshot if they cannot be served
 */
export async function readCodes(manager: EntityManager): Promise<CodeRows> {
  const areaProperties = manager.getRepository(AreaProperty);
  const properties = await areaProperties.find({ order: { area: 'ASC', position: 'ASC' } });
  const listValues = manager.getRepository(CodeListValue);
  const values = await listValues.find({ order: { codeList: 'ASC', position: 'ASC' } });
  const rows = { properties, values, records: await readRecords(manager) };
  assertServable(rows);
  await assertAllRead(manager, rows); // requests have their turn here, between the checks above and the index
  return rows;
}

async function readRecords(manager: EntityManager): Promise<CodeRecord[]> {
  const records: CodeRecord[] = [];
  const types = new Map<string, string>();
  let page = await readPage(manager);
  while (page.length > 0) {
    // PostgreSQL reads the next page while this one is kept
    const next = readPage(manager, page.at(-1));
    next.catch(() => undefined); // it is awaited below
    for (const row of page) records.push(recordOf(row, types));
    page = await next;
  }
  return records;
}

/** The records after `last`. */
function readPage(manager: EntityManager, last?: CommunicationCode): Promise<CommunicationCode[]> {
  const query = manager
    .getRepository(CommunicationCode)
    .createQueryBuilder('c')
    .orderBy('c.code_type collate "C"')
    .addOrderBy('c.code collate "C"')
    .limit(PAGE);
  if (last) query.where('(c.codeType collate "C", c.code collate "C") > (:codeType, :code)', last);
  return query.getMany();
}

const TWICE = `select format('communication_code holds the key (%L, %L) twice', code_type, code) as fault
    from public.communication_code group by code_type, code having count(*) > 1
  union all select format('code_list_value holds the key (%L, %L) twice', code_list, value)
    from public.code_list_value group by code_list, value having count(*) > 1
  union all select format('area_property holds the key (%L, %L) twice', area, property)
    from public.area_property group by area, property having count(*) > 1 limit 1`;

/** TypeORM makes one entity of all rows with the same key. Where the primary key of a table was dropped, there are more rows than entities. */
async function assertAllRead(manager: EntityManager, read: CodeRows): Promise<void> {
  const [row] = await manager.query<{ rows: number }[]>(
    `select ((select count(*) from public.area_property) + (select count(*) from public.code_list_value)
      + (select count(*) from public.communication_code))::int as rows`,
  );
  if (row?.rows === read.properties.length + read.values.length + read.records.length) return;
  const [twice] = await manager.query<{ fault: string }[]>(TWICE);
  throw new RefusedSnapshot(`${twice?.fault}: its primary key is missing`);
}
