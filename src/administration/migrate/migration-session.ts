import type { ConnectionFields, DatabaseAddress } from '../../configuration/database-url.js';
import { KEEP_ALIVE, Session } from '../../database/session.js';
import { APPLICATION, CONNECTION_LIMIT_MS, assertSupported, parseAddress, untilReachable } from '../cli/transaction.js';
import { SESSION_SETTINGS } from './migration-loader.js';

/** Works with a session of its own, outside of a transaction. */
export async function withMigrationSession<T>(
  address: DatabaseAddress,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const fields = parseAddress(address);
  const session = await untilReachable(fields, () => openSession(fields));
  try {
    return await work(session);
  } finally {
    await session.end();
  }
}

async function openSession(fields: ConnectionFields): Promise<Session> {
  const session = new Session({
    ...fields,
    application_name: APPLICATION,
    connectionTimeoutMillis: CONNECTION_LIMIT_MS,
    ...KEEP_ALIVE,
  });
  try {
    await session.connect();
    await assertSupported(session);
    await session.query(SESSION_SETTINGS);
    return session;
  } catch (error) {
    void session.end();
    throw error;
  }
}
