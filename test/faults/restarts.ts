import { failuresIn } from './figures.js';
import { Balancer } from '../support/balancer.js';
import { Nginx } from '../support/nginx.js';
import type { RunningService } from '../support/service.js';
import { Traffic, WITHIN_A_SECOND } from '../support/traffic.js';
import type { World } from '../support/world.js';

const ROUNDS = 10;
const REQUESTS = 100_000;
/** How often the balancer asks a replica whether it is ready. */
const PROBE_MS = 500;

/** Restarts each of three replicas ten times behind a balancer that asks for readiness, under 500 requests a second. Gives what failed. */
export async function rollingRestart(world: World, requests = REQUESTS): Promise<string> {
  const balancer = new Balancer(world.replicas, PROBE_MS);
  return restartUnderTraffic(world, balancer.target, requests).finally(() => balancer.stop());
}

/** The same behind nginx with deploy/nginx. */
export async function gateway(world: World, requests = REQUESTS): Promise<string> {
  const nginx = await Nginx.start(world.replicas.map(({ port }) => port));
  try {
    return await restartUnderTraffic(world, () => nginx.url, requests);
  } finally {
    await nginx.stop();
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
  const report = await traffic.stop();
  return [
    `${ends.length} restarts of ${replicas.length} replicas: ${failuresIn(report)};`,
    `every exit status 0: ${statuses.every((status) => status === 0) ? 'yes' : `no: ${statuses.join()}`}; longest end ${Math.round(Math.max(...ends))} ms`,
    ...report.failures.slice(0, 5),
  ].join('\n');
}
