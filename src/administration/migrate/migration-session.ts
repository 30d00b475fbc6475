import type { DatabaseAddress } from '../../configuration/database-url.js';
import { ConnectionSettings } from '../../database/connection-settings.js';
import { Session } from '../../database/session.js';
import {
  APPLICATION,
  CONNECTION_LIMIT_MS,
  assertSupported,
  checkedConnectionString,
  untilReachable,
} from '../cli/transaction.js';
import { SESSION_SETTINGS } from './migration-loader.js';

/** Works with a session of its own, outside of a transaction. */
export async function withMigrationSession<T>(
  address: DatabaseAddress,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const url = checkedConnectionString(address);
  const session = await untilReachable(url, () => openSession(address));
  try {
    return await work(session);
  } finally {
    await session.end();
  }
}

async function openSession(address: DatabaseAddress): Promise<Session> {
  const session = new Session({
    connectionSettings: new ConnectionSettings(address),
    application_name: APPLICATION,
    connectionTimeoutMillis: CONNECTION_LIMIT_MS,
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
