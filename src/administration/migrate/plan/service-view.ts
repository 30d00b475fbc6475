// What the service would read: with its own readers, its own role and its own settings, so that a right that is missing, row level security or
// a table that is gone shows here as it would there.
import type { EntityManager } from 'typeorm';
import { KEY_STATE } from '../../../auth/api-keys/key-state.js';
import type { CodeRows } from '../../../codes/code-rows.js';
import { readCodes } from '../../../codes/read-codes.js';
import { describe } from '../../../telemetry/repeated-failure.js';

const ROLE = 'order_lookup_service';
const EMPTY: CodeRows = { properties: [], values: [], records: [] };

export interface ServiceView {
  readonly codes: CodeRows;
  /** Clients of the keys in force, by id and hash. */
  readonly keys: ReadonlyMap<string, string>;
  /** What would keep the service from serving, a sentence each. */
  readonly refusals: readonly string[];
}

/** As the transaction of `manager` sees it now, which stays as it is. */
export async function viewOf(manager: EntityManager): Promise<ServiceView> {
  const refusals: string[] = [];
  const attempt = async <T>(
    refused: string,
    tables: readonly string[],
    work: () => Promise<T>,
  ): Promise<T | undefined> => {
    await manager.query('savepoint attempt');
    try {
      await assertReadable(manager, tables);
      return await work();
    } catch (error) {
      await manager.query('rollback to savepoint attempt'); // fails if the connection is lost
      refusals.push(`${refused}: ${describe(error)}`);
      return undefined;
    }
  };
  await manager.query('savepoint service_view');
  // Where the session's role may not act as the service, it reads with its own rights
  await manager.query(
    `do $$ begin
      if exists (select from pg_roles where rolname = '${ROLE}' and pg_has_role(session_user, oid, 'member')) then set local role ${ROLE}; end if;
    end $$; set local row_security = off; set local search_path = pg_catalog, public, pg_temp`,
  );
  const codes = await attempt(
    'the service would not serve the codes',
    ['revision', 'area_property', 'code_list_value', 'communication_code'],
    () => readCodes(manager),
  );
  const keys = await attempt(
    'callers will be refused: the service could not read its keys',
    ['revision', 'api_key'],
    () =>
      manager.query<{ key: string; client: string }[]>(
        `select id || encode(key_hash, 'hex') as key, client from public.api_key where ${KEY_STATE} in ('in force', 'ends')`,
      ),
  );
  await manager.query('rollback to savepoint service_view');
  return {
    codes: codes ?? EMPTY,
    keys: new Map(keys?.map(({ key, client }) => [key, client])),
    refusals,
  };
}

/** The session's role may not be allowed to act as the service. */
async function assertReadable(manager: EntityManager, tables: readonly string[]): Promise<void> {
  const [row] = await manager.query<{ names: string | null }[]>(
    `select string_agg(relname, ', ' order by relname) as names from pg_class, pg_roles
      where relnamespace = 'public'::regnamespace and relname = any ($1) and rolname = '${ROLE}'
        and (relrowsecurity or not has_table_privilege(pg_roles.oid, pg_class.oid, 'select'))`,
    [tables],
  );
  if (row?.names) throw new Error(`${ROLE} may not read all rows of ${row.names}`);
}
