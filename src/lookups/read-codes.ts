import type { EntityManager, ObjectLiteral, Repository } from 'typeorm';
import { AreaProperty, CodeListValue, CommunicationCode } from '../database/entities.js';
import { type CodeRows, UnservableRows, assertServable } from './code-rows.js';

/** TypeORM makes the entities of a query in one turn of the event loop: about 15 ms for so many. */
const PAGE_ROWS = 5_000;

/** A snapshot that is older than a TRUNCATE would see the table empty: this is the first query of a transaction. */
export const lockTables = (manager: EntityManager): Promise<unknown> =>
  manager.query(
    `lock table public.area_property, public.code_list_value, public.communication_code in access share mode`,
  );

/**
 * The rows of all moments, in the order of the answers.
 * @throws UnservableRows if they cannot be served
 */
export async function readCodes(manager: EntityManager): Promise<CodeRows> {
  const areaProperties = manager.getRepository(AreaProperty);
  const properties = await areaProperties.find({ order: { area: 'ASC', position: 'ASC' } });
  const listValues = manager.getRepository(CodeListValue);
  const values = await listValues.find({ order: { codeList: 'ASC', position: 'ASC' } });
  const communicationCodes = manager.getRepository(CommunicationCode);
  const records = await readRecords(communicationCodes);
  await assertAllRead(areaProperties, properties);
  await assertAllRead(listValues, values);
  await assertAllRead(communicationCodes, records);
  const rows = { properties, values, records };
  assertServable(rows);
  return rows;
}

async function readRecords(repository: Repository<CommunicationCode>): Promise<CommunicationCode[]> {
  const records: CommunicationCode[] = [];
  let page = await readPage(repository, undefined);
  while (page.length > 0) {
    records.push(...page);
    page = await readPage(repository, page.at(-1));
  }
  return records;
}

/** The records after `last`, in code-point order, whatever collation the columns have. */
function readPage(
  repository: Repository<CommunicationCode>,
  last: CommunicationCode | undefined,
): Promise<CommunicationCode[]> {
  const query = repository
    .createQueryBuilder('record')
    .orderBy('record.code_type collate "C"')
    .addOrderBy('record.code collate "C"')
    .limit(PAGE_ROWS);
  if (last) {
    query.where('(record.codeType collate "C", record.code collate "C") > (:lastType, :lastCode)', {
      lastType: last.codeType,
      lastCode: last.code,
    });
  }
  return query.getMany();
}

/** Of rows with the same key TypeORM makes one entity, and a page begins after all of them. */
async function assertAllRead<Row extends ObjectLiteral>(
  repository: Repository<Row>,
  rows: readonly Row[],
): Promise<void> {
  const counted = await repository
    .createQueryBuilder('entry')
    .select('count(*)::int', 'count')
    .getRawOne<{ count: number }>();
  if (counted?.count === rows.length) return;
  const { tableName } = repository.metadata;
  const key = await keyThatIsTwice(repository);
  throw new UnservableRows(`${tableName} holds the key (${key}) twice: its primary key is missing`);
}

/** Its columns as people read them: `'T', 'C'`. */
async function keyThatIsTwice<Row extends ObjectLiteral>(repository: Repository<Row>): Promise<string> {
  const { primaryColumns } = repository.metadata;
  const columns = primaryColumns.map(({ propertyName }) => `entry.${propertyName}`);
  const twice = await repository
    .createQueryBuilder('entry')
    .select(columns)
    .groupBy(columns.join(', '))
    .having('count(*) > 1')
    .limit(1)
    .getRawOne<Record<string, string>>();
  const names = Object.values(twice ?? {});
  return names.map((name) => `'${name}'`).join(', ');
}
