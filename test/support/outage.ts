import { type RunningService, until } from './service.js';
import type { World } from './world.js';
import { Traffic, type TrafficOptions, type TrafficReport } from './traffic.js';
import { PATHS } from './paths.js';

export interface Outage {
  readonly traffic: TrafficReport;
  /** How often /health/ready was asked, and how often it was not 200. */
  readonly readiness: { readonly asked: number; readonly not200: number };
  /** Milliseconds until every replica served a change that was committed right after the return. */
  readonly fresh: number;
}

/** Has the replicas answer mixed traffic while `fault` takes the database away and gives it back. */
export async function outlive(
  { replicas, credentials, database, headers }: World,
  fault: () => Promise<unknown>,
  options: TrafficOptions,
): Promise<Outage> {
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
