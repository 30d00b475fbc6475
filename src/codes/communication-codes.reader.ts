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
  first: string;
  second: string;
}

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
  let page: Page | undefined;
  do {
    page = await readPage(manager, fields, page);
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
  } while (records < count);
  // A page begins behind the last key of the one before, so a key that stands twice is skipped, or counted once too often
  if (records !== count || end !== json.length)
    throw new RefusedSnapshot('communication_code holds a key twice: its primary key is missing');
  return new OrderedRecords(json, ends, fields);
}

async function readPage(
  manager: EntityManager,
  [first, second]: readonly [KeyField, KeyField],
  after: Page | undefined,
): Promise<Page | undefined> {
  return manager
    .createQueryBuilder()
    .select(`string_agg(page.json, ',' order by page.first, page.second)`, 'json')
    .addSelect(`string_agg(octet_length(page.json)::text, ',' order by page.first, page.second)`, 'lengths')
    .addSelect(`(array_agg(page.first order by page.first desc, page.second desc))[1]`, 'first')
    .addSelect(`(array_agg(page.second order by page.first desc, page.second desc))[1]`, 'second')
    .from(
      (query) =>
        query
          .select(RECORD, 'json')
          .addSelect(`r.${first}`, 'first')
          .addSelect(`r.${second}`, 'second')
          .from(CommunicationCode, 'r')
          .where(after ? `(r.${first}, r.${second}) > (:first, :second)` : 'true', after && { first: after.first, second: after.second })
          .orderBy(`r.${first}`)
          .addOrderBy(`r.${second}`)
          .limit(PAGE),
      'page',
    )
    .getRawOne<Page>();
}
