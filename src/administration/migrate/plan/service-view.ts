// What the service would read: with its own readers, its own role and its own settings, so that a right that is missing, row level security or
// a table that is gone shows here as it would there.
import type { EntityManager } from 'typeorm';
import { KEY_STATE } from '../../../auth/api-keys/key-state.js';
import type { CodeRows } from '../../../codes/code-rows.js';
import { readCodes } from '../../../codes/read-codes.js';
import { describe } from '../../../telemetry/repeated-failure.js';

const ROLE = 'order_lookup_service';
const KEYS = `select id || encode(key_hash, 'hex') as key, client from public.api_key
  where ${KEY_STATE} in ('in force', 'ends') and exists (select from public.revision)`;
// Where the session's role may not act as the service, it reads with its own rights
const AS_SERVICE = `savepoint service_view;
  do $$ begin
    if exists (select from pg_roles where rolname = '${ROLE}' and pg_has_role(session_user, oid, 'member')) then set local role ${ROLE}; end if;
  end $$; set local row_security = off; set local search_path = pg_catalog, public, pg_temp`;

/** As the transaction of `manager` sees it now, which stays as it is. */
export async function viewOf(manager: EntityManager) {
  const refusals: string[] = [];
  const attempt = async <T>(refused: string, read: () => Promise<T>): Promise<T | undefined> => {
    await manager.query('savepoint attempt');
    try {
      return await read();
    } catch (error) {
      await manager.query('rollback to savepoint attempt'); // fails if the connection is lost
      refusals.push(`${refused}: ${describe(error)}`);
      return undefined;
    }
  };
  await manager.query(AS_SERVICE);
  const codes = await attempt('the service would not serve the codes', () => readCodes(manager));
  const keys = await attempt('callers will be refused: the service could not read its keys', () =>
    manager.query<{ key: string; client: string }[]>(KEYS),
  );
  await manager.query('rollback to savepoint service_view');
  const [clock] = await manager.query<{ now: number }[]>(
    'select (extract(epoch from now()) * 1000)::float8 as now',
  );
  const none: CodeRows = { properties: [], values: [], records: [] };
  return {
    /** Milliseconds since the epoch, by the database's clock. */
    now: clock?.now ?? 0,
    codes: codes ?? none,
    /** Clients of the keys in force, by id and hash. */
    keys: new Map(keys?.map(({ key, client }) => [key, client])),
    /** What would keep the service from serving, a sentence each. */
    refusals,
  };
}
