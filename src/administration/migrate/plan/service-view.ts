// What the service would read, with its own readers and its own settings. So content that it would refuse, or a table
// that is gone, shows here as it would there.
import type { Client } from 'pg';
import type { EntityManager } from 'typeorm';
import { SETTINGS } from '../../../database/session.js';
import type { CodeRows } from '../../../lookups/code-rows.js';
import { readCodes } from '../../../lookups/read-codes.js';
import { messageOf } from '../../../telemetry/error-message.js';

export interface ServiceView {
  readonly codes: CodeRows;
  /** The keys that are in force now, and those that are in 30 days: a key may stand here twice. */
  readonly keys: readonly KeyInForce[];
  /** Why the service would not serve something, or refuse callers. */
  readonly refusals: readonly string[];
}

interface KeyInForce {
  /** Of the key at one of the two moments. */
  readonly identity: string;
  readonly client: string;
}

const NO_CODES: CodeRows = { properties: [], values: [], records: [] };

/** The settings go with the savepoint, as does the failure of a read. */
const AS_SERVICE = `savepoint service_view; set local row_security = off; ${SETTINGS}`;
const AS_BEFORE = 'rollback to savepoint service_view';

/** The service reads `revision` with the keys, so without its rows it has none. */
const KEYS_IN_FORCE = `
  select concat_ws(' ', id, encode(key_hash, 'hex'), days) as identity, client
  from public.api_key, unnest(array[0, 30]) as days
  where coalesce(least(expires_at, revoked_at) > now() + make_interval(days => days), true)
    and exists (select from public.revision)`;

interface Look<T> {
  readonly read: () => Promise<T>;
  /** What counts as read where the service could not read it. */
  readonly instead: T;
  /** What that means for the service or its callers. */
  readonly refusal: string;
}

/** Reads as the service in the transaction that is open, and leaves the transaction as it was. */
class ServiceReader {
  readonly refusals: string[] = [];

  constructor(private readonly session: Client) {}

  async read<T>(look: Look<T>): Promise<T> {
    await this.session.query(AS_SERVICE);
    const result = await this.resultOf(look);
    await this.session.query(AS_BEFORE); // fails where the connection was lost, which then is no refusal
    return result;
  }

  private async resultOf<T>({ read, instead, refusal }: Look<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      this.refusals.push(`${refusal}: ${messageOf(error)}`);
      return instead;
    }
  }
}

export async function readServiceView(session: Client, manager: EntityManager): Promise<ServiceView> {
  const reader = new ServiceReader(session);
  const codes = await reader.read({
    read: () => readCodes(manager),
    instead: NO_CODES,
    refusal: 'the service would not serve the codes',
  });
  const keys = await reader.read({
    read: () => manager.query<KeyInForce[]>(KEYS_IN_FORCE),
    instead: [],
    refusal: 'callers will be refused: the service could not read its keys',
  });
  return { codes, keys, refusals: reader.refusals };
}
