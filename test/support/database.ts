import { randomUUID } from 'node:crypto';
import { Client, Pool, type QueryResultRow } from 'pg';

/** A database of one test file. */
export type TestDatabase = Awaited<ReturnType<typeof createDatabase>>;

/** The password of every role on the servers of the tests. These servers listen only on the loopback address. */
export const PASSWORD = 'tests-only';
/** SQL that waits until no other worker of Jest copies the template. Nothing else locks this number. */
const LOCK_TEMPLATE = 'select pg_advisory_lock(20251)';

/** Does the work with a session, and then ends the session. */
export async function withSession<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(url);
  client.on('error', () => undefined); // the query that runs reports the error
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Runs SQL in a session of its own. */
export const queryAt = async (url: string, sql: string): Promise<Record<string, unknown>[]> =>
  (await withSession(url, (client) => client.query<Record<string, unknown>>(sql))).rows;

/**
 * Creates a copy of the migrated template, or an empty database. The default server is the one that all test files
 * share. A lock lets one worker at a time copy the template.
 */
export async function createDatabase({
  migrated = true,
  name = `test_${randomUUID().replaceAll('-', '')}`,
  server = process.env['TEST_POSTGRES_URL'] ?? '',
} = {}) {
  const create = () =>
    withSession(server, async (client) => {
      await client.query(LOCK_TEMPLATE);
      await client.query(`create database ${name} template ${migrated ? 'template_orders' : 'template1'}`);
    });
  await create();
  const url = Object.assign(new URL(server), { pathname: `/${name}` }).href;
  const openPool = (): Pool =>
    new Pool({ connectionString: url, max: 4, application_name: 'tests' }).on('error', () => undefined);
  let pool = openPool();
  const sessions: Client[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(sessions.splice(0).map((client) => client.end()));
    if (!pool.ended) await pool.end();
  };
  const drop = async (): Promise<void> => {
    await close();
    await queryAt(server, `drop database if exists ${name} with (force)`);
  };
  return {
    url, // for the superuser, so that a test may prepare anything
    name,
    /** Returns the address for another role, such as order_lookup_service, which may only read. */
    urlOf: (username: string) => Object.assign(new URL(url), { username, password: PASSWORD }).href,
    query: async <Row extends QueryResultRow = QueryResultRow>(sql: string, parameters?: unknown[]) =>
      (await pool.query<Row>(sql, parameters)).rows,
    /** Opens one more session as the superuser. It ends when the database is closed or dropped. */
    session: async () => {
      const client = new Client(url);
      sessions.push(client);
      await client.connect();
      return client;
    },
    /** Returns the number of sessions that wait for a lock of the table. In other databases it has the same oid. */
    countWaiting: async (table: string): Promise<number> => {
      const waiting = `select from pg_locks where not granted and relation = '${table}'::regclass
        and database = (select oid from pg_database where datname = current_database())`;
      return (await pool.query(waiting)).rows.length;
    },
    /** Adds a value at the end of a list. */
    addValue: (value: string, list = 'orderType') =>
      pool.query('insert into code_list_value (code_list, value) values ($1, $2)', [list, value]),
    /** Adds the codes CODE-1, CODE-2 and so on. Their types are TYPE-0 to TYPE-99. */
    addCodes: (count: number) =>
      pool.query(
        `insert into communication_code
           select 'TYPE-' || n % 100, 'CODE-' || n, rpad('Description of code ' || n, 50, '.')
           from generate_series(1, ${count}) as n`,
      ),
    close,
    drop,
    /** Replaces the database by a new copy of the template. */
    async reset() {
      await drop();
      await create();
      pool = openPool();
    },
  };
}
