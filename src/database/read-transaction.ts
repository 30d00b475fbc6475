import type { DataSource, EntityManager } from 'typeorm';
import { BEGIN_READING, type Session } from './session.js';

/**
 * Runs `read` in one read-only REPEATABLE READ transaction, so that all its queries see the same snapshot.
 * After an error the session is destroyed and not returned to the pool.
 */
export async function readTransaction<T>(
  dataSource: DataSource,
  read: (manager: EntityManager) => Promise<T>,
): Promise<T> {
  const runner = (await initialized(dataSource)).createQueryRunner();
  const session = (await runner.connect()) as Session;
  try {
    await runner.query(BEGIN_READING);
    const result = await read(runner.manager);
    await runner.query('commit');
    return result;
  } catch (error) {
    session.destroy();
    throw error;
  } finally {
    await runner.release();
  }
}

const initializing = new WeakMap<DataSource, Promise<unknown>>();

/** Initializes the data source once, however many callers ask. Unlike TypeORM's own retries, it may fail and be tried again without a limit. */
async function initialized(dataSource: DataSource): Promise<DataSource> {
  if (dataSource.isInitialized) return dataSource;
  const pending =
    initializing.get(dataSource) ??
    dataSource.initialize().finally(() => initializing.delete(dataSource));
  initializing.set(dataSource, pending);
  await pending;
  return dataSource;
}
