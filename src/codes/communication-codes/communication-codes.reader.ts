// Reads all communication codes. The records leave PostgreSQL as JSON, one page at a time. So reading any number of them holds the event loop
// for about a millisecond at a time, and creates no object for a record.
import { inPieces } from '../in-pieces.js';
import {
  RECORD,
  type Tables,
  type Transaction,
  UNBOUNDED,
  UNSERVABLE,
  VALIDITY,
  assertServable,
  assertSize,
} from '../rows.js';
import { CommunicationCodes } from './communication-codes.js';
import { DatedRecords } from './dated-records.js';
import { OrderedRecords } from './ordered-records.js';
import type { Fields, Key } from './record-key.js';
import { PAGE, RecordPage, type RecordRun } from './record-page.js';
import { split } from './record-run.js';

/** What is read: for which moment, from which table or subquery, and how many records at a time. */
export interface Source extends Pick<Tables, 'communicationCode'> {
  readonly moment: number;
  readonly page?: number;
}

/** All communication codes except those that have ended at the moment of the source. */
export async function readCommunicationCodes(
  transaction: Transaction,
  source: Source,
): Promise<CommunicationCodes> {
  await assertAllServable(transaction, source);
  const pages = await readRecords(transaction, source);
  const sorted = await sortByCode(transaction, source, new OrderedRecords(pages, BY_TYPE));
  return new CommunicationCodes(
    await inPieces(dated(pages, BY_TYPE, source.moment)),
    await inPieces(dated(sorted, BY_CODE, source.moment)),
  );
}

const BY_TYPE: Fields = ['codeType', 'code'];
const BY_CODE: Fields = ['code', 'codeType'];

function* dated(
  pages: readonly RecordPage[],
  fields: Fields,
  moment: number,
): Generator<void, DatedRecords> {
  const [inForce, toCome]: [RecordPage[], RecordPage[]] = [[], []];
  for (const page of pages) {
    const parts = split(page, moment);
    inForce.push(...parts.inForce);
    toCome.push(...parts.toCome);
    yield;
  }
  return new DatedRecords(new OrderedRecords(inForce, fields), new OrderedRecords(toCome, fields));
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

async function readRecords(transaction: Transaction, source: Source): Promise<RecordPage[]> {
  const pages: RecordPage[] = [];
  let bytes = 0;
  let row = await readPage<RecordsRow>(transaction, source, BY_TYPE, RECORDS);
  while (row?.json != null) {
    assertSize(bytes);
    const { json, validity } = row;
    const last = JSON.parse(json.slice(json.lastIndexOf('\n') + 1)) as Key;
    // PostgreSQL reads the next page while this one is copied
    const next = readPage<RecordsRow>(transaction, source, BY_TYPE, RECORDS, last);
    next.catch(() => undefined); // where copying fails nobody awaits it, and its rejection would end the process
    const page = RecordPage.ofText(
      json,
      validity === null ? undefined : Float64Array.from(validity.split(','), Number),
    );
    pages.push(page);
    bytes += page.json.length;
    row = await next;
  }
  return pages;
}

/** Copies the records into the other order. Within a code type both orders are the same, so the type of each record tells which one it is. */
async function sortByCode(
  transaction: Transaction,
  source: Source,
  records: OrderedRecords,
): Promise<RecordPage[]> {
  const sorted: RecordPage[] = [];
  const numbers = new Map<string, number>(); // the next record of each type
  let row = await readPage<TypesRow>(transaction, source, BY_CODE, TYPES);
  while (row?.types != null) {
    const runs = row.types.split('\n').map((type) => {
      const number = numbers.get(type) ?? records.range(Buffer.from(type))[0];
      numbers.set(type, number + 1);
      return records.runOf(number);
    });
    const { page, from } = runs.at(-1) as RecordRun;
    const last = JSON.parse(page.record(from).toString()) as Key;
    const next = readPage<TypesRow>(transaction, source, BY_CODE, TYPES, last);
    next.catch(() => undefined); // as above
    sorted.push(RecordPage.ofRuns(runs, source.moment));
    row = await next;
  }
  return sorted;
}

interface RecordsRow {
  readonly json: string | null;
  readonly validity: string | null;
}
const RECORDS = {
  columns: `${RECORD} as json, ${VALIDITY} as validity`,
  aggregates: `string_agg(json, e'\\n') as json,
    case when count(validity) > 0 then string_agg(coalesce(validity, '${UNBOUNDED}'), ',') end as validity`,
};

interface TypesRow {
  readonly types: string | null;
}
const TYPES = { columns: 'r.code_type', aggregates: `string_agg(code_type, e'\\n') as types` };

const COLUMNS = { codeType: 'r.code_type', code: 'r.code' };

/**
 * The next records after `last`. The subquery is sorted, and the aggregates take their input in that order; sorting in the aggregates would
 * double the cost.
 */
async function readPage<Row>(
  transaction: Transaction,
  { communicationCode, page = PAGE }: Source,
  fields: Fields,
  what: { readonly columns: string; readonly aggregates: string },
  last?: Key,
): Promise<Row | undefined> {
  const order = fields.map((field) => COLUMNS[field]).join();
  const [row] = await transaction.query<Row[]>(
    `select ${what.aggregates}
     from (
       select ${what.columns} from ${communicationCode} r ${last ? `where (${order}) > ($1, $2)` : ''}
       order by ${order} limit ${page}
     ) page`,
    last && fields.map((field) => last[field]),
  );
  return row;
}
