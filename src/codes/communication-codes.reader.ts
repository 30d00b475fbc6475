// The records leave PostgreSQL as JSON already, a page at a time, so that a reload of any size holds the event loop for about a millisecond
// at a time and makes no object for a record.
import type { EntityManager } from 'typeorm';
import { CommunicationCode } from '../database/entities/communication-code.entity.js';
import { RefusedSnapshot } from '../database/followed.js';
import { CommunicationCodes } from './communication-codes.js';
import { OrderedRecords } from './ordered-records.js';
import type { KeyField } from './record-key.js';

const PAGE = 1_000;
const MAX_BYTES = 1024 ** 3;
const RECORD = `'{"codeType":' || to_json(r.codeType)::text || ',"code":' || to_json(r.code)::text || ',"description":' || to_json(r.description)::text || '}'`;
const UNSERVABLE = `r.codeType ~ '^\\s*$|[[:cntrl:]]' or r.code ~ '^\\s*$|[[:cntrl:]]'`;

interface Totals {
  count: number;
  bytes: number;
}

interface Page {
  json: string | null;
  lengths: string | null;
}

/** Where a page ends: the key of its last record. */
type Key = Readonly<Record<KeyField, string>>;

/** All communication codes, as of the transaction of `manager`. */
export async function readCommunicationCodes(manager: EntityManager): Promise<CommunicationCodes> {
  const totals = await readTotals(manager);
  return new CommunicationCodes(
    await readOrdered(manager, ['codeType', 'code'], totals),
    await readOrdered(manager, ['code', 'codeType'], totals),
  );
}

async function readTotals(manager: EntityManager): Promise<Totals> {
  const totals = await manager
    .getRepository(CommunicationCode)
    .createQueryBuilder('r')
    .select('count(*)::int', 'count')
    .addSelect(`coalesce(sum(octet_length(${RECORD})), 0)::float8`, 'bytes')
    .addSelect(`count(*) filter (where ${UNSERVABLE})::int`, 'unservable')
    .getRawOne<Totals & { unservable: number }>();
  if (!totals) throw new Error('the totals of communication_code cannot be read');
  if (totals.unservable > 0)
    throw new RefusedSnapshot(`communication_code holds ${totals.unservable} records with an empty code or control characters`);
  if (totals.bytes > MAX_BYTES)
    throw new RefusedSnapshot(`communication_code holds ${totals.bytes} bytes: at most ${MAX_BYTES} can be served`);
  return totals;
}

async function readOrdered(
  manager: EntityManager,
  fields: readonly [KeyField, KeyField],
  { count, bytes }: Totals,
): Promise<OrderedRecords> {
  const json = Buffer.allocUnsafeSlow(bytes + Math.max(0, count - 1));
  const ends = new Uint32Array(count);
  let end = 0;
  let records = 0;
  let last: Key | undefined;
  do {
    const page = await readPage(manager, fields, last);
    if (page?.json == null || page.lengths == null) break;
    const lengths = page.lengths.split(',');
    if (records + lengths.length > count) break;
    if (records > 0) end += json.write(',', end);
    const start = end;
    end += json.write(page.json, end);
    let at = start - 1;
    for (const length of lengths) {
      at += 1 + Number(length);
      ends[records++] = at;
    }
    last = JSON.parse(json.toString('utf8', at - Number(lengths.at(-1)), at)) as Key;
  } while (records < count);
  // A page begins behind the last key of the one before, so a key that stands twice is skipped, or counted once too often
  if (records !== count || end !== json.length)
    throw new RefusedSnapshot('communication_code holds a key twice: its primary key is missing');
  return new OrderedRecords(json, ends, fields);
}

/**
 * The next records behind `last`. Their subquery is sorted, and aggregates take their input in its order: sorting it once more would cost
 * as much again.
 */
async function readPage(
  manager: EntityManager,
  [first, second]: readonly [KeyField, KeyField],
  last: Key | undefined,
): Promise<Page | undefined> {
  return manager
    .createQueryBuilder()
    .select(`string_agg(page.json, ',')`, 'json')
    .addSelect(`string_agg(octet_length(page.json)::text, ',')`, 'lengths')
    .from(
      (query) =>
        query
          .select(RECORD, 'json')
          .from(CommunicationCode, 'r')
          .where(last ? `(r.${first}, r.${second}) > (:first, :second)` : 'true', last && { first: last[first], second: last[second] })
          .orderBy(`r.${first}`)
          .addOrderBy(`r.${second}`)
          .limit(PAGE),
      'page',
    )
    .getRawOne<Page>();
}
