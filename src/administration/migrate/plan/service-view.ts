// What the service would read: with its own readers, its own role and its own settings. So a right that is missing,
// row level security or a table that is gone shows here as it would there. A session whose role may not act as the
// role of the service reads with its own rights.
import type { Client } from 'pg';
import type { EntityManager } from 'typeorm';
import { objectFaults } from '../../../database/objects.js';
import { SETTINGS } from '../../../database/session.js';
import type { CodeRows } from '../../../lookups/code-rows.js';
import { readCodes } from '../../../lookups/read-codes.js';
import { messageOf } from '../../../telemetry/error-message.js';

export interface ServiceView {
  readonly codes: CodeRows;
  /** The keys that are in force now, and those that are in 30 days. */
  readonly keys: readonly KeyInForce[];
  /** A sentence for each object that is not what the migrations of this release make. */
  readonly objects: readonly string[];
  /** Why the service would not serve something, or refuse callers. */
  readonly refusals: readonly string[];
}

interface KeyInForce {
  /** Of the key at one of the two moments. */
  readonly identity: string;
  readonly client: string;
}

const NO_CODES: CodeRows = { properties: [], values: [], records: [] };

const AS_SERVICE = `savepoint service_view;
  do $$ begin set local role order_lookup_service; exception when others then null; end $$;
  set local row_security = off; ${SETTINGS}`;
/** It fails if the connection is lost. */
const AS_BEFORE = 'rollback to savepoint service_view';

/** The service reads `revision` with the keys. */
const KEYS_IN_FORCE = `
  select concat_ws(' ', id, encode(key_hash, 'hex'), days) as identity, client
  from public.api_key, unnest(array[0, 30]) as days
  where coalesce(least(expires_at, revoked_at) > now() + make_interval(days => days), true)
    and exists (select from public.revision)`;

/** Reads in the transaction that is open, and leaves it as it was. */
export async function readServiceView(
  session: Client,
  manager: EntityManager,
): Promise<ServiceView> {
  const refusals: string[] = [];

  async function asService<T>(refusal: string, read: () => Promise<T>, instead: T): Promise<T> {
    await session.query(AS_SERVICE);
    let result = instead;
    try {
      result = await read();
    } catch (error) {
      refusals.push(`${refusal}: ${messageOf(error)}`);
    }
    await session.query(AS_BEFORE);
    return result;
  }

  const codes = await asService(
    'the service would not serve the codes',
    () => readCodes(manager),
    NO_CODES,
  );
  const keys = await asService(
    'callers will be refused: the service could not read its keys',
    () => manager.query<KeyInForce[]>(KEYS_IN_FORCE),
    [],
  );
  const faults = await asService('the objects cannot be read', () => objectFaults(session), []);
  const objects = faults.map(({ name, fault }) => `the service relies on it: ${name} ${fault}`);
  return { codes, keys, objects, refusals };
}
