import type { DatabaseAddress } from '../../configuration/database-url.js';
import { ConnectionSettings } from '../../database/connection-settings.js';
import { Session } from '../../database/session.js';
import { UnknownCommit, commit } from '../frame/commit.js';
import { APPLICATION, CONNECTION_LIMIT_MS, assertSupported, checkedConnectionString } from '../frame/connect.js';
import { unusableDatabase } from '../frame/connection-advice.js';
import { SESSION_SETTINGS } from './migration-loader.js';

/** As node-pg-migrate writes it. A test loses the answer, and fails if the text is another one. */
const COMMIT = 'COMMIT;';

/**
 * The session that node-pg-migrate works with. It is like any other, but for COMMIT, whose answer is awaited for a
 * limited time: the runner has no option for that, and would wait for ever where packets are swallowed or a synchronous
 * standby is lost. Then the session ends, so that nothing waits behind it.
 */
class MigrationSession extends Session {
  // oxlint-disable-next-line typescript/no-explicit-any -- no narrower type is one of all overloads of pg
  override query(text: any, ...others: any[]): any {
    return text === COMMIT ? this.commit() : super.query(text, ...others);
  }

  private async commit(): Promise<void> {
    try {
      await commit(this);
    } catch (error) {
      if (error instanceof UnknownCommit) void this.end(); // else the runner's next query would wait, too
      throw error;
    }
  }
}

/** Works with a session of its own, outside of a transaction. */
export async function withMigrationSession<T>(
  address: DatabaseAddress,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const url = checkedConnectionString(address);
  const session = new MigrationSession({
    connectionSettings: new ConnectionSettings(address),
    application_name: APPLICATION,
    connectionTimeoutMillis: CONNECTION_LIMIT_MS,
  });
  try {
    await prepare(session, url);
    return await work(session);
  } finally {
    await session.end();
  }
}

async function prepare(session: Session, url: string): Promise<void> {
  try {
    await session.connect();
    await assertSupported(session);
    await session.query(SESSION_SETTINGS);
  } catch (error) {
    throw unusableDatabase(url, error);
  }
}
