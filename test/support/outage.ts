import { setTimeout as pause } from 'node:timers/promises';
import { fetchReply } from './exchange.js';
import type { RunningService } from './running-service.js';
import { until } from './until.js';
import type { World } from './world.js';
import { Traffic, type TrafficOptions } from './traffic.js';
import { PATHS } from './paths.js';

/** The least number of requests, also if the fault is short. */
const LEAST_REQUESTS = 20;

/**
 * Sends mixed traffic to the replicas while `fault` takes the database away and gives it back. Then commits a change.
 * `freshAfterMs` is the time from this commit until all replicas serve the change.
 */
export async function sendTrafficDuring(
  fault: () => Promise<unknown>,
  { replicas, credentials, database, headers }: World,
  options: TrafficOptions,
) {
  let next = 0;
  const target = (): string => replicas[next++ % replicas.length]?.url ?? '';
  const traffic = new Traffic(target, credentials, options);
  const readiness = { asked: 0, not200: 0 };
  const probing = new AbortController();
  const probe = async (service: RunningService): Promise<void> => {
    while (!probing.signal.aborted) {
      const { status } = await service.fetchReadiness();
      readiness.asked++;
      if (status !== 200) readiness.not200++;
      await pause(100);
    }
  };
  const probes = Promise.all(replicas.map(probe));
  probes.catch(() => undefined); // avoids an unhandled rejection during the fault: `await probes` throws it later
  try {
    await fault();
    const value = `Outage ${Date.now()}`;
    await database.addValue(value);
    const committedAt = performance.now();
    await until(async () => {
      const bodies = await Promise.all(
        replicas.map(async ({ url }) => (await fetchReply(url + PATHS.orderUpdate, { headers })).text),
      );
      return bodies.every((body) => body.includes(value));
    });
    const freshAfterMs = performance.now() - committedAt;
    await until(async () => traffic.asked >= LEAST_REQUESTS);
    probing.abort();
    await probes;
    return { freshAfterMs, readiness, traffic: await traffic.stop() };
  } finally {
    probing.abort();
    await traffic.stop();
  }
}
