// Runs work in one transaction that is never committed. The tables are locked first, so changes of others never appear in it. No session waits for
// it longer than a second: it ends as soon as another session sees one wait for half a second. It ends within 30 s, and leaves no lock.
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { connectionString } from '../../../configuration/database-url.js';
import { messageOf } from '../../../telemetry/error-message.js';
import { AdministrationError, refuse } from '../../frame/command.js';
import { type Work, columnOf, withDatabase, withWriting } from '../../frame/connect.js';

const LIMIT_S = 20;
/** The server ends what the client does not reach: a lost connection, a statement that never ends. */
export const LIMITS = `set local lock_timeout = '500ms'; set local statement_timeout = '${LIMIT_S}s'; set local idle_in_transaction_session_timeout = '1s'`;

const LOCK = `do $$ begin
  lock table public.code_list, public.code_list_value, public.area_property, public.communication_code, public.api_key in share row exclusive mode;
exception when undefined_table then null; end $$`;
const WAITERS = `select from pg_locks where not granted and $1 = any (pg_blocking_pids(pid))
  and clock_timestamp() - waitstart > interval '500 ms' limit 1`;

export async function rehearse<T>(work: Work<T>) {
  connectionString(process.env); // its faults are reported as they are
  const rehearsal = withDatabase((watch) =>
    withWriting(async (session, manager) => {
      await session.query(LIMITS);
      const [pid] = await columnOf(session, 'select pg_backend_pid()');
      const whole = session.query(LOCK).then(() => work(session, manager));
      const result = await Promise.race([whole, limit(watch, pid)]);
      await session.query('rollback');
      return result;
    }),
  );
  return rehearsal.catch((error: Error & { code?: string }) => {
    // The value of an enum is used before it is committed
    if (error.code === '55P04')
      refuse(`The plan cannot tell what callers would see: ${error.message}`);
    if (error instanceof AdministrationError) throw error;
    return refuse(
      `The plan came to no end, and nothing was changed: ${messageOf(error)}. If others write meanwhile, choose a quieter time, or a copy of the database.`,
    );
  });
}

async function limit(watch: Client, pid: unknown): Promise<never> {
  const query = { text: WAITERS, values: [pid], query_timeout: 5_000 };
  const end = performance.now() + LIMIT_S * 1_000;
  while (performance.now() < end) {
    await pause(50);
    if ((await watch.query(query)).rowCount) throw new Error('another session had to wait');
  }
  throw new Error(`it took longer than ${LIMIT_S} s`);
}
