import type { DataSource, EntityManager } from 'typeorm';
import {
  BEGIN_READING,
  SERVER_QUERY,
  type ServerFacts,
  type Session,
  assertSupported,
} from './session.js';

/**
 * Uses one session of the pool. After an error it is destroyed and not returned to the pool: one that reached its time limit still waits for
 * the answer.
 * @param using is told the session, so that it can be destroyed from outside
 */
export async function withSession<T>(
  dataSource: DataSource,
  use: (manager: EntityManager) => Promise<T>,
  using: (session: Session) => void = () => undefined,
): Promise<T> {
  const runner = (await initialized(dataSource)).createQueryRunner();
  const session = (await runner.connect()) as Session;
  let ended: unknown; // TypeORM says only that the session cannot be used any more
  const note = (error: Error): void => void (ended ??= error);
  session.on('error', note);
  try {
    using(session);
    return await use(runner.manager);
  } catch (error) {
    session.destroy();
    throw ended ?? error;
  } finally {
    session.off('error', note);
    await runner.release();
  }
}

/** Runs `read` in one read-only REPEATABLE READ transaction, so that all its queries see the same snapshot. */
export async function readTransaction<T>(
  manager: EntityManager,
  read: (manager: EntityManager) => Promise<T>,
): Promise<T> {
  await manager.query(BEGIN_READING);
  const result = await read(manager);
  await manager.query('commit');
  return result;
}

const initializing = new WeakMap<DataSource, Promise<unknown>>();

/** Initializes the data source once, however many callers ask. Unlike TypeORM's own retries, it may fail and be tried again without a limit. */
async function initialized(dataSource: DataSource): Promise<DataSource> {
  if (dataSource.isInitialized) return dataSource;
  const pending =
    initializing.get(dataSource) ??
    initialize(dataSource).finally(() => initializing.delete(dataSource));
  initializing.set(dataSource, pending);
  await pending;
  return dataSource;
}

async function initialize(dataSource: DataSource): Promise<void> {
  await dataSource.initialize();
  try {
    const [facts] = await dataSource.query<ServerFacts[]>(SERVER_QUERY);
    assertSupported(facts);
  } catch (error) {
    await dataSource.destroy();
    throw error;
  }
}
