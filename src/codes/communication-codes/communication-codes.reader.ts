// Reads all communication codes. The records leave PostgreSQL as JSON, one page at a time. So reading any number of them holds the event loop
// for about a millisecond at a time, and creates no object for a record.
import type { Tables, Transaction } from '../tables.js';
import { VALIDITY } from '../validity.js';
import { CommunicationCodes } from './communication-codes.js';
import { DatedRecords } from './dated-records.js';
import { OrderedRecords } from './ordered-records.js';
import { RECORD, UNSERVABLE, assertServable, assertSize } from './record-columns.js';
import type { Fields, Key } from './record-key.js';
import { PAGE, RecordPage } from './record-page.js';
import { split } from './record-run.js';

/** What is read: for which moment, from which table or subquery, and how many records at a time. */
export interface Source extends Pick<Tables, 'communicationCode'> {
  readonly moment: number;
  readonly page?: number;
}

interface PageRow {
  json: string | null;
  lengths: string | null;
  validity: string | null;
}

/** All communication codes except those that have ended at the moment of the source. */
export async function readCommunicationCodes(
  transaction: Transaction,
  source: Source,
): Promise<CommunicationCodes> {
  await assertAllServable(transaction, source);
  return new CommunicationCodes(
    await readOrdered(transaction, source, ['codeType', 'code']),
    await readOrdered(transaction, source, ['code', 'codeType']),
  );
}

async function assertAllServable(
  transaction: Transaction,
  { communicationCode }: Source,
): Promise<void> {
  const [faults] = await transaction.query<{ repeated: number; unservable: number }[]>(
    `select count(*) filter (where count > 1)::int as repeated, count(*) filter (where unservable)::int as unservable
     from (select count(*), ${UNSERVABLE} as unservable from ${communicationCode} r group by r.code_type, r.code) keys`,
  );
  if (!faults) throw new Error('communication_code cannot be checked');
  assertServable(faults.repeated, faults.unservable);
}

async function readOrdered(
  transaction: Transaction,
  source: Source,
  fields: Fields,
): Promise<DatedRecords> {
  const [inForce, toCome]: [RecordPage[], RecordPage[]] = [[], []];
  let bytes = 0;
  for (let last: Key | undefined; ;) {
    const row = await readPage(transaction, source, fields, last);
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
    const parts = split(page, source.moment);
    inForce.push(...parts.inForce);
    toCome.push(...parts.toCome);
    assertSize((bytes += page.json.length));
    last = JSON.parse(page.record(page.count - 1).toString()) as Key;
  }
}

const COLUMNS = { codeType: 'r.code_type', code: 'r.code' };

/**
 * The next records after `last`. The subquery is sorted, and the aggregates take their input in that order; sorting in the aggregates would
 * double the cost.
 */
async function readPage(
  transaction: Transaction,
  { communicationCode, page = PAGE }: Source,
  fields: Fields,
  last: Key | undefined,
): Promise<PageRow | undefined> {
  const columns = fields.map((field) => COLUMNS[field]).join();
  const [row] = await transaction.query<PageRow[]>(
    `select string_agg(json, ',') as json, string_agg(octet_length(json)::text, ',') as lengths,
       case when bool_or(dated) then string_agg(validity, ',') end as validity
     from (
       select ${RECORD} as json, ${VALIDITY} as validity, r.valid_from is not null or r.valid_until is not null as dated
       from ${communicationCode} r ${last ? `where (${columns}) > ($1, $2)` : ''}
       order by ${columns} limit ${page}
     ) page`,
    last && fields.map((field) => last[field]),
  );
  return row;
}
