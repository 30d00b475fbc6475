import { setTimeout as pause } from 'node:timers/promises';
import { failuresIn } from './figures.js';
import { type Front, startBalancer, startNginx, withCaller } from '../support/gateways.js';
import { freePort } from '../support/ports.js';
import type { RunningService } from '../support/running-service.js';
import { Traffic, WITHIN_A_SECOND } from '../support/traffic.js';
import type { World } from '../support/world.js';

const ROUNDS = 10;
/** In which a balancer notices that a replica is back. */
const NOTICED_MS = 3_000;
const DRAIN_SECONDS = [4, 15];
const BALANCERS = ['nginx', 'haproxy', 'caddy'] as const;

interface Course {
  readonly balancer: (typeof BALANCERS)[number];
  readonly drainSeconds: number;
  /** How often each replica is restarted. */
  readonly rounds: number;
}

/**
 * Restarts replicas under traffic behind nginx as deploy/nginx has it, and behind HAProxy and Caddy as docs/balancers.md has
 * them, each for several values of DRAIN_SECONDS: all at once, each with replicas of its own. Gives what failed.
 * @param only one value of DRAIN_SECONDS
 */
export async function gateway(world: World, rounds = ROUNDS, only?: string): Promise<string> {
  const drains = only === undefined ? DRAIN_SECONDS : [Number(only)];
  const courses = drains.flatMap((drainSeconds) =>
    BALANCERS.map((balancer): Course => ({ balancer, drainSeconds, rounds })),
  );
  const reports = await Promise.all(courses.map((course) => restartUnderTraffic(world, course)));
  return reports.join('\n');
}

async function restartUnderTraffic(world: World, course: Course): Promise<string> {
  const { balancer, drainSeconds, rounds } = course;
  const ports = { PORT: String(await freePort()), MANAGEMENT_PORT: String(await freePort()) };
  const environment = { DRAIN_SECONDS: String(drainSeconds), ...ports };
  const hosts = ['127.0.0.1', '127.0.0.2'];
  const start = (HOST: string): Promise<RunningService> => world.replica({ HOST, ...environment });
  const replicas = new Map<string, RunningService>();
  for (const host of hosts) replicas.set(host, await start(host));
  const front = await startFront(balancer, ports, hosts);
  const options = { ...WITHIN_A_SECOND, perSecond: 50 };
  const traffic = new Traffic(() => front.url, world.credentials, options);
  for (let round = 0; round < rounds; round++)
    for (const host of hosts) {
      const replica = replicas.get(host);
      replica?.signal('SIGTERM');
      await replica?.exited();
      replicas.set(host, await start(host));
      await pause(NOTICED_MS);
    }
  const report = await traffic.stop();
  await front.stop();
  const what = `${balancer}, DRAIN_SECONDS=${drainSeconds}: ${rounds} restarts of each of 2 replicas`;
  return [`${what}: ${failuresIn(report)}`, ...report.failures.slice(0, 3)].join('\n');
}

function startFront(
  balancer: Course['balancer'],
  ports: Record<'PORT' | 'MANAGEMENT_PORT', string>,
  hosts: readonly string[],
): Promise<Front> {
  const replicas = hosts.map((host) => `${host}:${ports.PORT}`);
  if (balancer === 'nginx') return startNginx(replicas, (text) => withCaller(text, '127.0.0.1'));
  return startBalancer(balancer, ports);
}
