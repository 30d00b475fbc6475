import { Balancer } from '../support/balancer.js';
import { Nginx } from '../support/nginx.js';
import type { RunningService } from '../support/service.js';
import { Traffic, WITHIN_A_SECOND } from '../support/traffic.js';
import { World } from '../support/world.js';

const ROUNDS = 10;
const REQUESTS = 100_000;
/** How often the balancer asks a replica whether it is ready. */
const PROBE_MS = 500;

/** Restarts each of three replicas ten times behind a balancer that asks for readiness, under 500 requests a second. Gives what failed. */
export async function rollingRestart(requests = REQUESTS): Promise<string> {
  const world = await World.apart(3);
  const balancer = new Balancer(world.replicas, PROBE_MS);
  try {
    return await restartUnderTraffic(world, balancer.target, requests);
  } finally {
    balancer.stop();
    await world.close();
  }
}

/** The same behind nginx with deploy/nginx. */
export async function gateway(requests = REQUESTS): Promise<string> {
  const world = await World.apart(3);
  const nginx = await Nginx.start(world.replicas.map(({ port }) => port));
  try {
    return await restartUnderTraffic(world, () => nginx.url, requests);
  } finally {
    await nginx.stop();
    await world.close();
  }
}

/** Restarts the replicas in turn, each on its port, ten times and until so many requests were sent. */
async function restartUnderTraffic(
  world: World,
  target: () => string,
  requests: number,
): Promise<string> {
  const { replicas } = world;
  const traffic = new Traffic(target, world.credentials, { ...WITHIN_A_SECOND, perSecond: 500 });
  const statuses: (number | null)[] = [];
  const ends: number[] = [];
  for (let round = 0; round < ROUNDS || traffic.asked < requests; round++) {
    for (let at = 0; at < replicas.length; at++) {
      const old = replicas[at] as RunningService;
      const startedAt = performance.now();
      old.signal('SIGTERM');
      statuses.push(await old.exited());
      ends.push(performance.now() - startedAt);
      replicas[at] = await world.replica({ PORT: String(old.port) });
    }
  }
  const { asked, failed, failures, p99, largest } = await traffic.stop();
  return [
    `${ends.length} restarts of ${replicas.length} replicas: ${failed} of ${asked} requests failed (p99 ${p99.toFixed(1)} ms, largest ${largest.toFixed(1)} ms);`,
    `every exit status 0: ${statuses.every((status) => status === 0) ? 'yes' : `no: ${statuses.join()}`}; longest end ${Math.round(Math.max(...ends))} ms`,
    ...failures.slice(0, 5),
  ].join('\n');
}
