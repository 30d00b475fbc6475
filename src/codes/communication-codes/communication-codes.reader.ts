// All communication codes. The records leave PostgreSQL as JSON already, a page at a time, so that reading any number of them holds the event
// loop for about a millisecond at a time and makes no object for a record.
import type { EntityManager } from 'typeorm';
import { CommunicationCode } from '../../database/entities/communication-code.entity.js';
import { VALIDITY } from '../validity.js';
import { CommunicationCodes } from './communication-codes.js';
import { DatedRecords } from './dated-records.js';
import { OrderedRecords } from './ordered-records.js';
import { RECORD, UNSERVABLE, assertServable, assertSize } from './record-columns.js';
import type { Fields, Key } from './record-key.js';
import { PAGE, RecordPage } from './record-page.js';
import { split } from './record-run.js';

interface PageRow {
  json: string | null;
  lengths: string | null;
  validity: string | null;
}

/**
 * All communication codes but those that are over, as of the transaction of `manager`.
 * @param moment at which it began
 */
export async function readCommunicationCodes(
  manager: EntityManager,
  moment: number,
): Promise<CommunicationCodes> {
  await assertAllServable(manager);
  return new CommunicationCodes(
    await readOrdered(manager, ['codeType', 'code'], moment),
    await readOrdered(manager, ['code', 'codeType'], moment),
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

async function readOrdered(
  manager: EntityManager,
  fields: Fields,
  moment: number,
): Promise<DatedRecords> {
  const [inForce, toCome]: [RecordPage[], RecordPage[]] = [[], []];
  let bytes = 0;
  for (let last: Key | undefined; ;) {
    const row = await readPage(manager, fields, last);
    if (row?.json == null || row.lengths == null)
      return new DatedRecords(
        new OrderedRecords(inForce, fields),
        new OrderedRecords(toCome, fields),
      );
    const page = RecordPage.ofText(
      row.json,
      row.lengths.split(',').map(Number),
      row.validity === null ? undefined : Float64Array.from(row.validity.split(','), Number),
    );
    const parts = split(page, moment);
    inForce.push(...parts.inForce);
    toCome.push(...parts.toCome);
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
    .addSelect(`case when bool_or(page.dated) then string_agg(page.validity, ',') end`, 'validity')
    .from(
      (query) =>
        query
          .select(RECORD, 'json')
          .addSelect('r.validFrom is not null or r.validUntil is not null', 'dated')
          .addSelect(VALIDITY, 'validity')
          .from(CommunicationCode, 'r')
          .where('(r.validUntil is null or r.validUntil > now())')
          .andWhere(
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
