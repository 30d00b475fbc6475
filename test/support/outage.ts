import { setTimeout as pause } from 'node:timers/promises';
import type { RunningService } from './running-service.js';
import { until } from './until.js';
import type { World } from './world.js';
import { Traffic, type TrafficOptions } from './traffic.js';
import { PATHS } from './paths.js';

/**
 * Sends mixed traffic to the replicas while `fault` takes the database away and gives it back. `fresh` is the time in
 * milliseconds until a change after the outage is served.
 */
export async function outlive(
  { replicas, credentials, database, headers }: World,
  fault: () => Promise<unknown>,
  options: TrafficOptions,
) {
  let next = 0;
  const target = (): string => replicas[next++ % replicas.length]?.url ?? '';
  const traffic = new Traffic(target, credentials, options);
  const readiness = { asked: 0, not200: 0 };
  const over = new AbortController();
  const probe = async (service: RunningService): Promise<void> => {
    while (!over.signal.aborted) {
      const { status } = await service.readiness();
      readiness.asked++;
      if (status !== 200) readiness.not200++;
      await pause(100);
    }
  };
  const probes = Promise.all(replicas.map(probe));
  probes.catch(() => undefined); // the failure is thrown below, at the `await`
  try {
    await fault();
    const value = `Outage ${Date.now()}`;
    await database.addValue(value);
    const committedAt = performance.now();
    await until(async () => {
      const bodies = await Promise.all(
        replicas.map(async ({ url }) => (await fetch(url + PATHS.orderUpdate, { headers })).text()),
      );
      return bodies.every((body) => body.includes(value));
    });
    const fresh = performance.now() - committedAt;
    await until(async () => traffic.asked > 20); // a few requests at least, also if the fault was short
    over.abort();
    await probes;
    return { fresh, readiness, traffic: await traffic.stop() };
  } finally {
    over.abort();
    await traffic.stop();
  }
}
