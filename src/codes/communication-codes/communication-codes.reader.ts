// All communication codes. The records leave PostgreSQL as JSON already, a page at a time, so that reading any number of them holds the event
// loop for about a millisecond at a time and makes no object for a record.
import type { EntityManager } from 'typeorm';
import { CommunicationCode } from '../../database/entities/communication-code.entity.js';
import { CommunicationCodes } from './communication-codes.js';
import { OrderedRecords } from './ordered-records.js';
import { RECORD, UNSERVABLE, assertServable, assertSize } from './record-columns.js';
import type { Fields, Key } from './record-key.js';
import { PAGE, RecordPage } from './record-page.js';

interface PageRow {
  json: string | null;
  lengths: string | null;
}

/** All communication codes, as of the transaction of `manager`. */
export async function readCommunicationCodes(manager: EntityManager): Promise<CommunicationCodes> {
  await assertAllServable(manager);
  return new CommunicationCodes(
    await readOrdered(manager, ['codeType', 'code']),
    await readOrdered(manager, ['code', 'codeType']),
  );
}

async function assertAllServable(manager: EntityManager): Promise<void> {
  const faults = await manager
    .createQueryBuilder()
    .select('count(*) filter (where keys.count > 1)::int', 'repeated')
    .addSelect('count(*) filter (where keys.unservable)::int', 'unservable')
    .from(
      (query) =>
        query
          .select('count(*)', 'count')
          .addSelect(UNSERVABLE, 'unservable')
          .from(CommunicationCode, 'r')
          .groupBy('r.codeType')
          .addGroupBy('r.code'),
      'keys',
    )
    .getRawOne<{ repeated: number; unservable: number }>();
  if (!faults) throw new Error('communication_code cannot be checked');
  assertServable(faults.repeated, faults.unservable);
}

async function readOrdered(manager: EntityManager, fields: Fields): Promise<OrderedRecords> {
  const pages: RecordPage[] = [];
  let bytes = 0;
  for (let last: Key | undefined; ;) {
    const row = await readPage(manager, fields, last);
    if (row?.json == null || row.lengths == null) return new OrderedRecords(pages, fields);
    const page = RecordPage.ofText(row.json, row.lengths.split(',').map(Number));
    pages.push(page);
    assertSize((bytes += page.json.length));
    last = JSON.parse(page.record(page.count - 1).toString()) as Key;
  }
}

/**
 * The next records behind `last`. Their subquery is sorted, and aggregates take their input in its order: sorting it once more would cost
 * as much again.
 */
async function readPage(
  manager: EntityManager,
  [first, second]: Fields,
  last: Key | undefined,
): Promise<PageRow | undefined> {
  return manager
    .createQueryBuilder()
    .select(`string_agg(page.json, ',')`, 'json')
    .addSelect(`string_agg(octet_length(page.json)::text, ',')`, 'lengths')
    .from(
      (query) =>
        query
          .select(RECORD, 'json')
          .from(CommunicationCode, 'r')
          .where(
            last ? `(r.${first}, r.${second}) > (:first, :second)` : 'true',
            last && { first: last[first], second: last[second] },
          )
          .orderBy(`r.${first}`)
          .addOrderBy(`r.${second}`)
          .limit(PAGE),
      'page',
    )
    .getRawOne<PageRow>();
}
