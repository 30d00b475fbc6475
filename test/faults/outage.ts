import { setTimeout as pause } from 'node:timers/promises';
import { type RunningService, until } from '../support/service.js';
import { Traffic } from '../support/traffic.js';
import { OPERATIONS } from '../support/world.js';
import { Stage } from './stage.js';

/** The real server is stopped, killed, restarted and paused under 500 requests a second. Gives what failed, and how soon changes were there again. */
export async function outage(seconds = 60): Promise<string> {
  const stage = await Stage.set(2);
  const lines: string[] = [];
  const faults: Record<string, () => Promise<unknown>> = {
    [`stopped for ${seconds} s`]: () =>
      stage.postgres
        .stop()
        .then(() => pause(seconds * 1000))
        .then(() => stage.postgres.start()),
    [`killed, away for ${seconds} s`]: () =>
      stage.postgres
        .kill()
        .then(() => pause(seconds * 1000))
        .then(() => stage.postgres.start()),
    restarted: () => stage.postgres.stop().then(() => stage.postgres.start()),
    [`paused by SIGSTOP for ${seconds} s`]: () =>
      stage.postgres
        .pause()
        .then(() => pause(seconds * 1000))
        .then(() => stage.postgres.resume()),
  };
  try {
    for (const [name, fault] of Object.entries(faults)) {
      let next = 0;
      const traffic = new Traffic(() => stage.replicas[next++ % stage.replicas.length]?.url ?? '', stage.credentials, { perSecond: 500 });
      const health = watchHealth(stage.replicas);
      await pause(2_000);
      await fault();
      const value = `After: ${name}`;
      await stage.database.query(`insert into code_list_value (code_list, value) values ('orderType', $1)`, [value]);
      const committedAt = performance.now();
      await until(async () => {
        const headers = { 'Api-Key': stage.credentials.key, Authorization: stage.credentials.token };
        const bodies = await Promise.all(stage.replicas.map(async ({ url }) => (await fetch(url + OPERATIONS[0], { headers })).text()));
        return bodies.every((body) => body.includes(value));
      });
      const fresh = performance.now() - committedAt;
      const unready = health.stop();
      const { asked, failed, failures, p99, largest } = await traffic.stop();
      lines.push(
        `PostgreSQL ${name}: ${failed} of ${asked} requests failed (p99 ${p99.toFixed(1)} ms, largest ${largest.toFixed(1)} ms); /health/ready was not 200 ` +
          `${unready.count} of ${unready.asked} times; a change right after its return was served after ${Math.round(fresh)} ms`,
        ...failures.slice(0, 3),
      );
    }
    return lines.join('\n');
  } finally {
    await stage.strike();
  }
}

/** Asks for readiness twice a second. */
function watchHealth(replicas: readonly RunningService[]): { stop(): { asked: number; count: number } } {
  const seen = { asked: 0, count: 0 };
  const ask = async (): Promise<void> => {
    for (const { managementUrl } of replicas) {
      seen.asked++;
      if ((await fetch(`${managementUrl}/health/ready`)).status !== 200) seen.count++;
    }
  };
  const timer = setInterval(() => void ask(), 500);
  return {
    stop() {
      clearInterval(timer);
      return seen;
    },
  };
}
