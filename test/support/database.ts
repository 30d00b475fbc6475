import { randomUUID } from 'node:crypto';
import { Client, Pool, type QueryResultRow } from 'pg';

/** A database of one test file. */
export interface TestDatabase {
  /** As a superuser, who may prepare anything. */
  readonly url: string;
  readonly name: string;
  /** As one of the roles of production; the service works as order_lookup_service, which may only read. */
  urlOf(role: 'order_lookup_owner' | 'order_lookup_service'): string;
  query<Row extends QueryResultRow = QueryResultRow>(
    sql: string,
    parameters?: unknown[],
  ): Promise<Row[]>;
  /** Ends its sessions, so that it can be copied. */
  close(): Promise<void>;
  drop(): Promise<void>;
}

/** Of every role on the servers of the tests, which listen on the loopback address alone. */
export const PASSWORD = 'tests-only';
const LOCK = 'select pg_advisory_lock(20251)';

async function atServer<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** A copy of the migrated template, or an empty database, at the server of all test files or another one. PostgreSQL copies a template for one session at a time: the lock makes the workers take turns. */
export async function createDatabase({
  migrated = true,
  name = `test_${randomUUID().replaceAll('-', '')}`,
  server = process.env['TEST_POSTGRES_URL'] ?? '',
} = {}): Promise<TestDatabase> {
  await atServer(server, async (client) => {
    await client.query(LOCK);
    await client.query(
      `create database ${name} template ${migrated ? 'template_orders' : 'template1'}`,
    );
  });
  const url = Object.assign(new URL(server), { pathname: `/${name}` }).href;
  const pool = new Pool({ connectionString: url, max: 4, application_name: 'tests' });
  pool.on('error', () => undefined);
  return {
    url,
    name,
    urlOf: (username) => Object.assign(new URL(url), { username, password: PASSWORD }).href,
    query: async <Row extends QueryResultRow>(sql: string, parameters?: unknown[]) =>
      (await pool.query<Row>(sql, parameters)).rows,
    close: () => pool.end(),
    async drop() {
      if (!pool.ended) await pool.end();
      await atServer(server, (client) =>
        client.query(`drop database if exists ${name} with (force)`),
      );
    },
  };
}
