import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { DataSource, type EntityManager } from 'typeorm';
import { type DatabaseAddress, connectionString } from '../../configuration/database-url.js';
import { ConnectionSettings } from '../../database/connection-settings.js';
import { DatabaseSessions } from '../../database/database-sessions.js';
import { SETTINGS, type Session, poolOptions } from '../../database/session.js';
import { messageOf } from '../../telemetry/error-message.js';
import { refuse } from './command.js';

const UNLIMITED = `${SETTINGS}; set local statement_timeout = 0`;
const READING = `begin isolation level repeatable read, read only, not deferrable; ${UNLIMITED};
  set local row_security = off; set local lock_timeout = '10s'; set local idle_in_transaction_session_timeout = '1min'`;
/** The session ends soon after its client or the way to it is gone; not every platform can notice that during a statement. */
export const WRITING = `${UNLIMITED}; set local row_security = on; set local lock_timeout = '30s'; set local idle_in_transaction_session_timeout = '10s';
  set local tcp_keepalives_idle = 5; set local tcp_keepalives_interval = 5; set local tcp_keepalives_count = 2; set local tcp_user_timeout = '15s';
  do $$ begin set local client_connection_check_interval = '100ms'; exception when others then null; end $$`;
const BEGIN_WRITING = `begin isolation level read committed, read write, not deferrable; ${WRITING}`;
/** COMMIT has no answer for longer than the session may be idle: then its connection is lost. */
const COMMIT = { text: 'commit', query_timeout: 12_000 };
/** With another encoding, lengths and order would be those of bytes. */
const SUPPORTED = `select where current_setting('server_version_num')::int >= 140000 and current_setting('server_encoding') = 'UTF8'`;

export type Work<T> = (session: Session, manager: EntityManager) => Promise<T>;

/** Does the work in one transaction, in SQL or with the service's own readers, and ends the session. */
async function inTransaction<T>(begin: string, work: Work<T>, address: DatabaseAddress) {
  const url = connectionString(address);
  const { database, host, port } = new Client({ connectionString: url });
  const settings = new ConnectionSettings(address);
  const pool = poolOptions(settings);
  // A command does not try again, so it waits longer than the service
  const extra = { ...pool.extra, connectionTimeoutMillis: 10_000, query_timeout: 0 };
  const source = new DataSource({ ...pool, extra, applicationName: 'order-lookup-administration' });
  let isUsable = false;
  try {
    return await new DatabaseSessions(source, settings).withSession(async (manager, session) => {
      const { rowCount } = await session.query(SUPPORTED);
      if (!rowCount) throw new Error('PostgreSQL 14 or later and the encoding UTF8 are needed');
      await session.query(begin);
      isUsable = true;
      const result = await work(session, manager);
      await session.query(COMMIT);
      return result;
    });
  } catch (error) {
    if (isUsable) throw error;
    return refuse(
      `The database ${database} at ${host}:${port} cannot be used: ${messageOf(error)}. ${await adviceAgainst(error, url)}`,
    );
  } finally {
    await source.destroy().catch(() => undefined);
  }
}

/** Reads in one transaction, of one snapshot. */
export const withDatabase = <T>(work: Work<T>, address: DatabaseAddress = process.env) =>
  inTransaction(READING, work, address);

export const withWriting = <T>(work: Work<T>, address: DatabaseAddress = process.env) =>
  inTransaction(BEGIN_WRITING, work, address);

export async function columnOf<T = string>(client: Client, text: string, values?: unknown[]) {
  const { rows } = await client.query<[T]>({ text, values, rowMode: 'array' });
  return rows.map(([first]) => first);
}

/** By SQLSTATE, or the code of Node.js. */
const ADVICE: Readonly<Record<string, string>> = {
  '28P01': 'Correct role and password in DATABASE_URL, or set the password.',
  28000:
    'Create the role, let it log in (alter role NAME login) or in from here (pg_hba.conf); for TLS add sslmode=verify-full.',
  '3D000': `Correct the database in DATABASE_URL, or create it: create database NAME encoding 'UTF8' template template0;`,
  53300: 'End connections (table pg_stat_activity), or raise the limit that was reached.',
  42501: 'Let the role in: grant connect on database NAME to ROLE;',
  ERR_TLS_CERT_ALTNAME_INVALID: 'Write the host in DATABASE_URL as its certificate names it.',
};
const OF_DEMO = /^postgres:\/\/postgres:[\da-f]{32}@127\.0\.0\.1:\d+\/postgres\b/;
const DEMO = join(import.meta.dirname, '..', '..', '..', '.data', 'demo.env');

export const isOfDemo = async (url: string): Promise<boolean> =>
  (await readFile(DEMO, 'utf8').catch(() => '')).includes(`DATABASE_URL='${url}'`);

async function adviceAgainst(error: unknown, url: string): Promise<string> {
  if (await isOfDemo(url))
    return 'This is the database of the demo. Start it in another terminal: npm start';
  if (OF_DEMO.test(url) && existsSync(DEMO))
    return 'The demo has another database by now. Load its variables again: . .data/demo.env';
  const { code = '' } = error as { code?: string };
  if (/^E(CONN|HOST|TIMEDOUT|NOTFOUND|AI_AGAIN)/.test(code))
    return 'Start the server, or correct host and port in DATABASE_URL.';
  return ADVICE[code] ?? 'Check DATABASE_URL and that the server runs.';
}
