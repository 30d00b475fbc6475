import type { DataSource, EntityManager } from 'typeorm';
import { SESSION_LIMITS, destroyClient, initialized } from './session.js';

/**
 * Runs `read` in one read-only REPEATABLE READ transaction, so that all it sees is of one moment.
 * After any error the connection is destroyed rather than given back.
 */
export async function readTransaction<T>(
  dataSource: DataSource,
  read: (manager: EntityManager) => Promise<T>,
): Promise<T> {
  const runner = (await initialized(dataSource)).createQueryRunner();
  const client: unknown = await runner.connect();
  try {
    await runner.query(SESSION_LIMITS);
    await runner.query('begin isolation level repeatable read, read only');
    const result = await read(runner.manager);
    await runner.query('commit');
    return result;
  } catch (error) {
    destroyClient(client);
    throw error;
  } finally {
    await runner.release();
  }
}
