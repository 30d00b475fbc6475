// Reads all communication codes. The records leave PostgreSQL as JSON, one page at a time. So reading any number of them holds the event loop
// for about a millisecond at a time, and creates no object for a record.
import type { Tables, Transaction } from '../tables.js';
import { UNBOUNDED, VALIDITY } from '../validity.js';
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
  readonly json: string | null;
  readonly validity: string | null;
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

/** The constraints of the table prove that every record can be served. Where one was dropped, all records are checked. */
async function assertAllServable(
  transaction: Transaction,
  { communicationCode }: Source,
): Promise<void> {
  const constraints = await transaction.query<unknown[]>(
    `select from pg_constraint c join pg_class t on t.oid = c.conrelid
     where t.relname = $1 and t.relnamespace = 'public'::regnamespace and c.convalidated and c.conname in
       ('communication_code_is_unique', 'communication_code_type_is_clean_text_of_256_characters', 'communication_code_is_clean_text_of_256_characters')`,
    [communicationCode],
  );
  if (constraints.length === 3) return;
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
  let row = await readPage(transaction, source, fields);
  while (row?.json != null) {
    assertSize(bytes);
    const { json, validity } = row;
    const last = JSON.parse(json.slice(json.lastIndexOf('\n') + 1)) as Key;
    const next = readPage(transaction, source, fields, last); // PostgreSQL reads it while this page is copied
    const page = RecordPage.ofText(
      json,
      validity === null ? undefined : Float64Array.from(validity.split(','), Number),
    );
    const parts = split(page, source.moment);
    inForce.push(...parts.inForce);
    toCome.push(...parts.toCome);
    bytes += page.json.length;
    row = await next;
  }
  return new DatedRecords(new OrderedRecords(inForce, fields), new OrderedRecords(toCome, fields));
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
  last?: Key,
): Promise<PageRow | undefined> {
  const columns = fields.map((field) => COLUMNS[field]).join();
  const [row] = await transaction.query<PageRow[]>(
    `select string_agg(json, e'\\n') as json,
       case when count(validity) > 0 then string_agg(coalesce(validity, '${UNBOUNDED}'), ',') end as validity
     from (
       select ${RECORD} as json, ${VALIDITY} as validity
       from ${communicationCode} r ${last ? `where (${columns}) > ($1, $2)` : ''}
       order by ${columns} limit ${page}
     ) page`,
    last && fields.map((field) => last[field]),
  );
  return row;
}
