// Runs migrations in one transaction that is never committed. It promises two things: changes of others never appear in it, because everything
// is read in one snapshot, taken while no other migration runs; and no writer waits for it longer than a second.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client, DatabaseError } from 'pg';
import { AdministrationError } from '../../frame/command.js';
import { LOCK_CLASS, type Open, beginAlone, existingTables } from '../migration-session.js';

/** If a session waits for the rehearsal this long, the rehearsal ends and starts again. */
const PATIENCE_MS = 500;
const LOOK_EVERY_MS = 100;
const ATTEMPTS = 20;

/** SQLSTATEs that concurrent transactions can cause, so that a newer snapshot may help: serialization failure, deadlock, unique violation. */
const WORTH_ANOTHER = ['40001', '40P01', '23505', '23503'];

/** Sessions that wait for the process $1, directly or in its queue, except other runs of migrations. */
const WAITERS = `select from pg_locks where not granted and $1 = any (pg_blocking_pids(pid))
  and clock_timestamp() - waitstart > $2 * interval '1 ms' and not (locktype = 'advisory' and classid = ${LOCK_CLASS})`;

/** Existing tables that are locked against writers after an attempt without locks has failed. */
const TABLES = ['code_list', 'code_list_value', 'area_property', 'communication_code', 'api_key'];

/** @throws what `work` threw, or an AdministrationError if writers had to wait in every attempt */
export async function rehearse<T>(open: Open, work: (client: Client) => Promise<T>): Promise<T> {
  const guard = await open();
  let former = '';
  try {
    for (let attempt = 1; ; attempt++) {
      // This transaction gets the lock before the other one takes its snapshot
      await beginAlone(guard);
      const client = await open();
      const watch = await watchFor(client, guard);
      try {
        if (attempt > 1) await lockTables(client, guard);
        return await work(client);
      } catch (error) {
        const { code = '', message, detail } = ((error as Error).cause ?? error) as DatabaseError;
        const said = `${message} ${detail}`;
        // An error that occurs again in a newer snapshot was not caused by a concurrent transaction
        if (!watch.gaveWay && (!WORTH_ANOTHER.includes(code) || said === former)) throw error;
        if (attempt === ATTEMPTS)
          throw new AdministrationError(
            `Other sessions write so much that this was rolled back ${ATTEMPTS} times, so that none of them had to wait. Run it at a quieter time, or against a copy of the database.`,
          );
        former = said;
      } finally {
        await watch.end();
        await client.end();
        await guard.query('rollback');
      }
      await pause(Math.random() * 100);
    }
  } finally {
    await guard.end();
  }
}

/** Begins the transaction of `client`, and checks with `guard` whether a session waits for it; if so, ends the session of `client` at once. */
async function watchFor(client: Client, guard: Client) {
  const name = `order-lookup-plan-${randomUUID()}`;
  // Neither of these statements takes the snapshot
  await client.query(
    `begin isolation level repeatable read, read write; set local application_name = '${name}'; set local lock_timeout = '30s'`,
  );
  const { rows } = await guard.query<{ pid: number }>(
    'select pid from pg_stat_activity where application_name = $1',
    [name],
  );
  const over = new AbortController();
  const watch = { gaveWay: false, end: () => (over.abort(), looking) };
  const looking = (async () => {
    while (!over.signal.aborted) {
      await pause(LOOK_EVERY_MS, undefined, { signal: over.signal }).catch(() => undefined);
      if (over.signal.aborted) return;
      const { rowCount } = await guard.query(WAITERS, [rows[0]?.pid, PATIENCE_MS]);
      if (!rowCount) continue;
      watch.gaveWay = true;
      await guard.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
      return;
    }
  })();
  looking.catch(() => undefined); // end() reports it
  return watch;
}

async function lockTables(client: Client, guard: Client): Promise<void> {
  const tables = await existingTables(guard, TABLES);
  const names = tables.map((name) => `public.${name}`).join(', ');
  if (names) await client.query(`lock table ${names} in share row exclusive mode`);
}
