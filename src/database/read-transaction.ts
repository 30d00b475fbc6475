import type { DataSource, EntityManager } from 'typeorm';
import { BEGIN_READING, type Session } from './session.js';

/**
 * Runs `read` in one read-only REPEATABLE READ transaction, so that all it sees is of one moment.
 * After any error the session is destroyed rather than given back.
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

/** Initializes the data source, once however many ask. Unlike TypeORM's own retries this may fail and be tried again for ever. */
async function initialized(dataSource: DataSource): Promise<DataSource> {
  if (dataSource.isInitialized) return dataSource;
  const pending =
    initializing.get(dataSource) ??
    dataSource.initialize().finally(() => initializing.delete(dataSource));
  initializing.set(dataSource, pending);
  await pending;
  return dataSource;
}
