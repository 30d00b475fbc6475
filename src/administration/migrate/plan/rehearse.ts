// Runs work in one transaction that is never committed. It promises: changes of others never appear in it, since the tables are locked before the
// first reading; no session waits for it longer than a second, since another session looks for those that wait, and the connection is closed
// as soon as one has waited for half a second; it ends after DEADLINE_MS, whatever happens, and leaves no lock.
import { setTimeout as pause } from 'node:timers/promises';
import { type Client, DatabaseError } from 'pg';
import type { EntityManager } from 'typeorm';
import { describe } from '../../../telemetry/repeated-failure.js';
import { AdministrationError } from '../../frame/command.js';
import { connect, withManager } from '../../frame/connect.js';
import { beginGuarded, forbidCommit } from '../run-file.js';
import { RUN_LOCK } from '../run-migrations.js';

const DEADLINE_MS = 30_000;
/** No attempt begins later. */
const LAST_ATTEMPT_MS = 8_000;
const LOOK_EVERY_MS = 50;
const PATIENCE_MS = 500;

/** The server ends what the deadline does not reach: a lost connection, a statement that never ends. A large file takes time to be sent. */
export const limitsOf = (length: number): string =>
  `set local lock_timeout = '500ms'; set local statement_timeout = '20s';
  set local idle_in_transaction_session_timeout = '${1_000 + Math.round(length / 5_000)}ms'`;

/** Sessions that wait for the process $1. */
const WAITERS = `select from pg_locks where not granted and $1 = any (pg_blocking_pids(pid))
  and clock_timestamp() - waitstart > ${PATIENCE_MS} * interval '1 ms' limit 1`;
const TABLES = ['code_list', 'code_list_value', 'area_property', 'communication_code', 'api_key'];

/** SQLSTATEs that concurrent transactions cause: serialization failure, deadlock, lock not available. */
const WORTH_ANOTHER = ['40001', '40P01', '55P03'];

class GaveWay extends Error {}

type Work<T> = (client: Client, manager: EntityManager) => Promise<T>;

/** @throws what `work` threw, or an AdministrationError if no attempt came to its end */
export async function rehearse<T>(work: Work<T>): Promise<T> {
  const begun = performance.now();
  const deadline = begun + DEADLINE_MS;
  for (;;) {
    try {
      return await attempt(deadline, work);
    } catch (error) {
      const cause = (error as Error).cause ?? error;
      const isBusy =
        cause instanceof GaveWay ||
        (cause instanceof DatabaseError && WORTH_ANOTHER.includes(cause.code ?? ''));
      if (!isBusy && (error instanceof AdministrationError || cause !== error)) throw error;
      if (!isBusy)
        throw new AdministrationError(
          `The plan came to no end, and nothing was changed: ${describe(error)}.`,
        );
      if (performance.now() - begun > LAST_ATTEMPT_MS)
        throw new AdministrationError(
          `Other sessions hold locks that the plan needs, or would have to wait for it (${describe(cause)}). It gave way each time, and nothing was changed. Run it at a quieter time, or against a copy of the database.`,
        );
      await pause(100 + Math.random() * 200);
    }
  }
}

async function attempt<T>(deadline: number, work: Work<T>): Promise<T> {
  const watch = await connect();
  const over = new AbortController();
  const look = async (pid: number | undefined): Promise<never> => {
    while (!over.signal.aborted) {
      const { rowCount } = await watch.query(WAITERS, [pid]);
      if (rowCount) throw new GaveWay('another session had to wait');
      await pause(LOOK_EVERY_MS);
    }
    throw new Error('the plan is over');
  };
  try {
    return await withManager(async (session, manager) => {
      await beginGuarded(session, limitsOf(0));
      const { rows } = await session.query<{ pid: number }>('select pg_backend_pid() as pid');
      const ended = new Promise<never>((_, reject) => {
        session.once('error', reject);
        const timer = setTimeout(
          () => reject(new Error(`it took longer than ${DEADLINE_MS / 1000} s`)),
          deadline - performance.now(),
        );
        over.signal.addEventListener('abort', () => clearTimeout(timer));
        look(rows[0]?.pid).catch(reject);
      });
      return await Promise.race([ended, locked(session, () => work(session, manager))]);
    });
  } finally {
    over.abort();
    await watch.end().catch(() => undefined);
  }
}

async function locked<T>(client: Client, work: () => Promise<T>): Promise<T> {
  const { rows } = await client.query<{ alone: boolean; name: string | null }>(
    `select pg_try_advisory_xact_lock(${RUN_LOCK}) as alone,
      (select string_agg('public.' || name, ', ') from unnest($1::text[]) as name where to_regclass('public.' || name) is not null) as name`,
    [TABLES],
  );
  if (!rows[0]?.alone) throw new GaveWay('another run of migrations is under way');
  if (rows[0].name) await client.query(`lock table ${rows[0].name} in share row exclusive mode`);
  await forbidCommit(client);
  const result = await work();
  await client.query('rollback; reset default_transaction_read_only'); // behind a pooler others get the session
  return result;
}
