// After a change, only the changed codes are read: triggers record which codes each transaction touched. So the cost of a reload does not
// depend on the number of codes. This is done only if the stamps prove that no transaction is missing.
import type { EntityManager } from 'typeorm';
import { type Identity, readIdentity } from '../../snapshots/content-identity.js';
import { RECORD, UNSERVABLE, VALIDITY, assertServable, validityOf } from '../rows.js';
import type { Key } from './record-key.js';
import type { RecordChange } from './record-page.js';

/** With more changes than this, everything is read. */
const MOST_CHANGES = 1_000;

/** What a reading has seen. */
export interface Horizon extends Identity {
  /** The transactions that it has seen, as a text of pg_current_snapshot(). */
  readonly snapshot: string;
}

/** The horizon of the transaction of `manager`. */
export async function readHorizon(manager: EntityManager): Promise<Horizon> {
  const identity = await readIdentity(manager, 'codes');
  const [row] = await manager.query<{ snapshot: string }[]>(
    'select pg_current_snapshot()::text as snapshot',
  );
  return { ...identity, snapshot: row?.snapshot ?? '' };
}

/**
 * The present state of everything that may have changed since a former horizon. Undefined if that is too much or cannot be proved: then read everything.
 * It runs its query also without a former horizon, so that missing rights are noticed at the start.
 */
export async function readChangedRecords(
  manager: EntityManager,
  now: Horizon,
  former = now,
): Promise<RecordChange[] | undefined> {
  const [since] = await manager.query<Since[]>(
    `select count(*)::text as transactions, coalesce(bit_xor(stamp), 0)::text as stamps,
       coalesce(bool_or(extent = 'everything'), false) as everything
     from revision
     where topic = 'codes' and extent <> 'folded' and not pg_visible_in_snapshot(transaction_id, $1::pg_snapshot)`,
    [former.snapshot],
  );
  const touched = await manager.query<Key[]>(
    `select distinct c.code_type as "codeType", c.code
     from revision r join changed_code c using (begun_at, transaction_id)
     where r.topic = 'codes' and r.extent <> 'folded' and not pg_visible_in_snapshot(r.transaction_id, $1::pg_snapshot)
     limit ${MOST_CHANGES + 1}`,
    [former.snapshot],
  );
  if (!since || since.everything || touched.length > MOST_CHANGES || !leadsTo(former, since, now))
    return undefined;
  const present =
    touched.length > 0 ? await readPresent(manager, touched) : new Map<string, RecordChange>();
  return touched.map((key) => present.get(nameOf(key)) ?? { key, ...GONE });
}

interface Since {
  transactions: string;
  stamps: string;
  everything: boolean;
}

/** Whether exactly the transactions `since` lead from the former content to the present one. Their stamps are random, so no other set matches. */
const leadsTo = (former: Identity, since: Since, now: Identity): boolean =>
  former.state === now.state &&
  BigInt(former.transactions) + BigInt(since.transactions) === BigInt(now.transactions) &&
  (BigInt(former.stamps) ^ BigInt(since.stamps)) === BigInt(now.stamps);

/** The existing records with these keys. */
async function readPresent(
  manager: EntityManager,
  keys: readonly Key[],
): Promise<Map<string, RecordChange>> {
  const rows = await manager.query<
    (Key & { json: string; validity: string | null; unservable: boolean })[]
  >(
    `select r.code_type as "codeType", r.code, ${RECORD} as json, ${VALIDITY} as validity, ${UNSERVABLE} as unservable
     from communication_code r where (r.code_type, r.code) in (select * from unnest($1::text[], $2::text[]))`,
    [keys.map(({ codeType }) => codeType), keys.map(({ code }) => code)],
  );
  const records = new Map(
    rows.map((row): [string, RecordChange] => {
      const { codeType, code, json, validity } = row;
      const change = { key: { codeType, code }, json: Buffer.from(json) };
      return [nameOf(row), { ...change, ...validityOf(validity) }];
    }),
  );
  assertServable(rows.length - records.size, rows.filter(({ unservable }) => unservable).length);
  return records;
}

const GONE = { json: undefined, from: -Infinity, until: Infinity };
const nameOf = ({ codeType, code }: Key): string => JSON.stringify([codeType, code]);
