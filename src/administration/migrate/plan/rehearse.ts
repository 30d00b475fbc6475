// Runs work in one transaction that is never committed. It promises: changes of others never appear in it, since the tables are locked before the
// first reading; no session waits for it longer than a second, since another session looks for those that wait, and the connection is closed
// as soon as one has waited for half a second; it ends within 30 s, whatever happens, and leaves no lock.
import { setTimeout as pause } from 'node:timers/promises';
import type { Client, DatabaseError } from 'pg';
import type { EntityManager } from 'typeorm';
import { connectionString } from '../../../configuration/database-url.js';
import { messageOf } from '../../../telemetry/error-message.js';
import { AdministrationError } from '../../frame/command.js';
import { withDatabase, withWriting } from '../../frame/connect.js';

/** No attempt begins after this time. */
const BEGIN_MS = 10_000;
/** The longest attempt. */
const LIMIT_S = 20;

/** The server ends what the client does not reach: a lost connection, a statement that never ends. */
export const LIMITS = `set local lock_timeout = '500ms'; set local statement_timeout = '${LIMIT_S}s'; set local idle_in_transaction_session_timeout = '1s'`;

const LOCK = `do $$ declare name text; begin
  foreach name in array array['code_list', 'code_list_value', 'area_property', 'communication_code', 'api_key'] loop
    if to_regclass('public.' || name) is not null then execute format('lock table public.%I in share row exclusive mode', name); end if;
  end loop;
end $$`;
/** Sessions that wait for the process $1. */
const WAITERS = `select from pg_locks where not granted and $1 = any (pg_blocking_pids(pid))
  and clock_timestamp() - waitstart > interval '500 ms' limit 1`;
/** SQLSTATEs that concurrent transactions cause: serialization failure, deadlock, lock not available. */
const WORTH_ANOTHER = ['40001', '40P01', '55P03'];

type Work<T> = (client: Client, manager: EntityManager) => Promise<T>;

/** @throws what `work` threw, or an AdministrationError if no attempt came to its end */
export async function rehearse<T>(work: Work<T>): Promise<T> {
  connectionString(process.env); // its faults are reported as they are
  const startedAt = performance.now();
  for (;;) {
    try {
      return await withDatabase((watch) =>
        withWriting((session, manager) =>
          Promise.race([tooLong(), attempt(watch, session, () => work(session, manager))]),
        ),
      );
    } catch (error) {
      const isBusy = WORTH_ANOTHER.includes((error as DatabaseError).code ?? '');
      const message = `The plan came to no end, and nothing was changed: ${messageOf(error)}. If others write meanwhile, choose a quieter time, or a copy of the database.`;
      if (!isBusy || performance.now() > startedAt + BEGIN_MS)
        throw error instanceof AdministrationError ? error : new AdministrationError(message);
    }
    await pause(100 + Math.random() * 200);
  }
}

async function attempt<T>(watch: Client, session: Client, work: () => Promise<T>) {
  await session.query(LIMITS);
  const { rows } = await session.query<{ pid: number }>('select pg_backend_pid() as pid');
  const whole = session.query(LOCK).then(work);
  const result = await Promise.race([whole, waiter(watch, rows[0]?.pid)]);
  await session.query('rollback');
  return result;
}

/** Fails as soon as a session waits for that process. */
async function waiter(watch: Client, pid: unknown): Promise<never> {
  for (;;) {
    await pause(50);
    const { rowCount } = await watch.query(WAITERS, [pid]);
    if (rowCount)
      throw Object.assign(new Error('another session had to wait'), { code: WORTH_ANOTHER[2] });
  }
}

async function tooLong(): Promise<never> {
  await pause(LIMIT_S * 1_000, undefined, { ref: false });
  throw new Error(`it took longer than ${LIMIT_S} s`);
}
