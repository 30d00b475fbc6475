import { setTimeout as pause } from 'node:timers/promises';
import { sendTrafficDuring } from '../support/outage.js';
import type { World } from '../support/world.js';
import { failuresIn } from './figures.js';
import { WITHIN_A_SECOND } from '../support/traffic.js';

const OPTIONS = { ...WITHIN_A_SECOND, perSecond: 500 };

/**
 * Lets PostgreSQL fail in each way of `faults` under traffic. Returns the failures of requests, and how soon changes
 * were served again.
 * @param only a part of a name: only faults with this part are tried
 */
export async function outage(world: World, seconds = 60, only = ''): Promise<string> {
  const { postgres } = world;
  const away = async (goAway: () => Promise<void>, comeBack: () => Promise<void> | void): Promise<void> => {
    await pause(2_000);
    await goAway();
    await pause(seconds * 1000);
    await comeBack();
  };
  const faults: Record<string, () => Promise<unknown>> = {
    [`stopped for ${seconds} s`]: () => away(postgres.stop, postgres.start),
    [`killed, away for ${seconds} s`]: () => away(postgres.kill, postgres.start),
    restarted: () => postgres.stop().then(postgres.start),
    [`paused by SIGSTOP for ${seconds} s`]: () => away(postgres.pause, postgres.resume),
    [`that ends every session for ${seconds} s`]: () => endSessions(world, seconds),
  };
  const lines: string[] = [];
  for (const [name, fault] of Object.entries(faults).filter(([title]) => title.includes(only))) {
    const { traffic, readiness, freshAfterMs } = await sendTrafficDuring(fault, world, OPTIONS);
    lines.push(
      `PostgreSQL ${name}: ${failuresIn(traffic)}; ` +
        `/health/ready was not 200 ${readiness.not200} of ${readiness.asked} times; ` +
        `a change right after its return was served after ${Math.round(freshAfterMs)} ms`,
      ...traffic.failures.slice(0, 3),
    );
  }
  return lines.join('\n');
}

/** Ends all sessions while the server can be reached, as a restarted pooler, a failover or an administrator does. */
async function endSessions({ database }: World, seconds: number): Promise<void> {
  const end = Date.now() + seconds * 1000;
  while (Date.now() < end) {
    await database.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`);
    await pause(100);
  }
}
