import { type RunningService, until } from './service.js';
import type { World } from './world.js';
import { Traffic, type TrafficOptions } from './traffic.js';
import { PATHS } from './paths.js';

/** Has the replicas answer mixed traffic while `fault` takes the database away and gives it back. `fresh` is how long a change then takes, in milliseconds. */
export async function outlive(
  { replicas, credentials, database, headers }: World,
  fault: () => Promise<unknown>,
  options: TrafficOptions,
) {
  let next = 0;
  const target = (): string => replicas[next++ % replicas.length]?.url ?? '';
  const traffic = new Traffic(target, credentials, options);
  const readiness = { asked: 0, not200: 0 };
  const probe = async (service: RunningService): Promise<void> => {
    const { status } = await service.readiness();
    readiness.asked++;
    if (status !== 200) readiness.not200++;
  };
  const probes = setInterval(() => void Promise.all(replicas.map(probe)), 100);
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
    return { fresh: performance.now() - committedAt, readiness, traffic: await traffic.stop() };
  } finally {
    clearInterval(probes);
    await traffic.stop();
  }
}
