import { setTimeout as pause } from 'node:timers/promises';
import { failuresIn } from './figures.js';
import { Balancer } from '../support/balancer.js';
import { startBalancer } from '../support/balancers.js';
import { Nginx } from '../support/nginx.js';
import { freePort } from '../support/postgres-server.js';
import type { RunningService } from '../support/service.js';
import { Traffic, WITHIN_A_SECOND } from '../support/traffic.js';
import type { World } from '../support/world.js';

const ROUNDS = 10;
const REQUESTS = 100_000;
/** How often the balancer asks a replica whether it is ready. */
const PROBE_MS = 500;
/** In which a balancer notices that a replica is back. */
const NOTICED_MS = 3_000;
const DRAINS = [4, 15];

/** Restarts each of three replicas ten times behind a balancer that asks for readiness, under 500 requests a second. Gives what failed. */
export async function rollingRestart(world: World, requests = REQUESTS): Promise<string> {
  const balancer = new Balancer(world.replicas, PROBE_MS);
  return restartUnderTraffic(world, balancer.target, requests).finally(() => balancer.stop());
}

/**
 * The same behind nginx with deploy/nginx, and behind HAProxy and Caddy as docs/balancers.md has them, each for several values of
 * DRAIN_SECONDS: all at once, each with replicas of its own.
 * @param rounds how often each replica is restarted
 * @param only one value of DRAIN_SECONDS
 */
export async function gateway(world: World, rounds = ROUNDS, only?: string): Promise<string> {
  const runs = (only === undefined ? DRAINS : [Number(only)]).flatMap((drain) =>
    (['nginx', 'haproxy', 'caddy'] as const).map(async (name) => {
      const PORT = String(await freePort());
      const ports = { PORT, MANAGEMENT_PORT: String(await freePort()) };
      const start = (at: number): Promise<RunningService> =>
        world.replica({ HOST: `127.0.0.${at + 1}`, DRAIN_SECONDS: String(drain), ...ports });
      const replicas = [await start(0), await start(1)];
      const balancer =
        name === 'nginx'
          ? await Nginx.start(replicas.map(({ url }) => new URL(url).host))
          : await startBalancer(name, ports);
      const options = { ...WITHIN_A_SECOND, perSecond: 50 };
      const traffic = new Traffic(() => balancer.url, world.credentials, options);
      for (let round = 0; round < rounds; round++)
        for (let at = 0; at < replicas.length; at++) {
          replicas[at]?.signal('SIGTERM');
          await replicas[at]?.exited();
          replicas[at] = await start(at);
          await pause(NOTICED_MS);
        }
      const report = await traffic.stop();
      await balancer.stop();
      const what = `${name}, DRAIN_SECONDS=${drain}: ${rounds} restarts of each of 2 replicas`;
      return [`${what}: ${failuresIn(report)}`, ...report.failures.slice(0, 3)].join('\n');
    }),
  );
  return (await Promise.all(runs)).join('\n');
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
