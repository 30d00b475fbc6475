// After a change only what changed is read again: the triggers of the history record which rows each transaction touched. So a reload costs
// the same whatever the number of codes, and leaves the callers in peace.
import type { EntityManager } from 'typeorm';
import { CommunicationCodeChange } from '../../database/entities/communication-code-change.entity.js';
import { CommunicationCode } from '../../database/entities/communication-code.entity.js';
import { RECORD, UNSERVABLE, assertServable } from './record-columns.js';
import type { Key } from './record-key.js';
import type { RecordChange } from './record-page.js';

/** With more changes than these, everything is read anew. */
const MOST_CHANGES = 1_000;

/** Up to where a reading saw the table. */
export interface Horizon {
  /** Every transaction below this number was over, so that the reading saw what it committed. A 64-bit number as text. */
  readonly transaction: string;
  /** No transaction from this number on had begun. A history that was restored from another server may hold some. */
  readonly next: string;
  /** Names this very table on this very run of the server: the numbers of another one mean nothing. */
  readonly table: string;
}

type Touched = Key | { readonly codeType: null };

/** The horizon of the transaction of `manager`. */
export async function readHorizon(manager: EntityManager): Promise<Horizon> {
  const [horizon] = await manager.query<Horizon[]>(
    `select pg_snapshot_xmin(pg_current_snapshot())::text as transaction, pg_snapshot_xmax(pg_current_snapshot())::text as next,
      'communication_code'::regclass::oid || ' ' || pg_postmaster_start_time() as table`,
  );
  if (!horizon) throw new Error('the horizon of the transaction cannot be read');
  return horizon;
}

/**
 * What may have changed since a former horizon, as it is now. Undefined where that is too much, or cannot be told: read everything.
 * Without a former one this asks all the same, so that whoever may not see the changes learns it at the start.
 */
export async function readChangedRecords(
  manager: EntityManager,
  now: Horizon,
  former = now,
): Promise<RecordChange[] | undefined> {
  const touched = await manager
    .getRepository(CommunicationCodeChange)
    .createQueryBuilder('c')
    .select('c.codeType', 'codeType')
    .addSelect('c.code', 'code')
    .where('c.transactionId >= :transaction and c.transactionId < :next', {
      transaction: former.transaction,
      next: now.next,
    })
    .orderBy('c.transactionId', 'DESC')
    .limit(MOST_CHANGES + 1)
    .getRawMany<Touched>();
  if (former.table !== now.table || touched.length > MOST_CHANGES || touched.some(isTruncation))
    return undefined;
  const keys = new Map((touched as Key[]).map((key) => [nameOf(key), key]));
  const present =
    keys.size > 0 ? await readPresent(manager, [...keys.values()]) : new Map<string, Buffer>();
  return [...keys].map(([name, key]) => ({ key, json: present.get(name) }));
}

/** The JSON of those records of `keys` that there are. */
async function readPresent(
  manager: EntityManager,
  keys: readonly Key[],
): Promise<Map<string, Buffer>> {
  const rows = await manager
    .getRepository(CommunicationCode)
    .createQueryBuilder('r')
    .select('r.codeType', 'codeType')
    .addSelect('r.code', 'code')
    .addSelect(RECORD, 'json')
    .addSelect(UNSERVABLE, 'unservable')
    .where('(r.codeType, r.code) in (select * from unnest(:types::text[], :codes::text[]))', {
      types: keys.map(({ codeType }) => codeType),
      codes: keys.map(({ code }) => code),
    })
    .getRawMany<Key & { json: string; unservable: boolean }>();
  const records = new Map(rows.map((row) => [nameOf(row), Buffer.from(row.json)]));
  assertServable(rows.length - records.size, rows.filter(({ unservable }) => unservable).length);
  return records;
}

const isTruncation = ({ codeType }: Touched): boolean => codeType === null;
const nameOf = ({ codeType, code }: Key): string => JSON.stringify([codeType, code]);
