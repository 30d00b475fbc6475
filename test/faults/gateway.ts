import { setTimeout as pause } from 'node:timers/promises';
import { failuresIn } from './figures.js';
import { type Front, startBalancer, startNginx, withUnlimitedCaller } from '../support/gateways.js';
import { findFreePort } from '../support/ports.js';
import type { RunningService } from '../support/running-service.js';
import { Traffic, WITHIN_A_SECOND } from '../support/traffic.js';
import type { World } from '../support/world.js';

const ROUNDS = 10;
const HOSTS = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
const REQUESTS_PER_SECOND = 500;
/** The time in which a balancer notices that a replica is back. */
const NOTICED_MS = 3_000;
const DRAIN_SECONDS = [4, 15]; // the default, and the value of deploy/kubernetes
const BALANCERS = ['nginx', 'haproxy', 'caddy'] as const;

interface Run {
  readonly name: string;
  readonly balancer: (typeof BALANCERS)[number];
  readonly drainSeconds: number;
  /** The number of restarts of each replica. */
  readonly rounds: number;
}

/**
 * Restarts replicas under traffic behind each balancer, with each value of DRAIN_SECONDS. Returns the failures.
 * @param only a part of a name, such as `nginx, DRAIN_SECONDS=4`: only the runs whose name contains it are made
 */
export async function gateway(world: World, rounds = ROUNDS, only = ''): Promise<string> {
  const reports: string[] = [];
  for (const drainSeconds of DRAIN_SECONDS)
    for (const balancer of BALANCERS) {
      const name = `${balancer}, DRAIN_SECONDS=${drainSeconds}`;
      if (name.includes(only)) reports.push(await restartUnderTraffic(world, { name, balancer, drainSeconds, rounds }));
    }
  return reports.join('\n');
}

async function restartUnderTraffic(world: World, run: Run): Promise<string> {
  const { name, balancer, drainSeconds, rounds } = run;
  const ports = { PORT: String(await findFreePort()), MANAGEMENT_PORT: String(await findFreePort()) };
  const environment = { DRAIN_SECONDS: String(drainSeconds), ...ports };
  const start = (HOST: string): Promise<RunningService> => world.startReadyReplica({ HOST, ...environment });
  const replicas = new Map<string, RunningService>();
  for (const host of HOSTS) replicas.set(host, await start(host));
  const front = await startFront(balancer, ports);
  const options = { ...WITHIN_A_SECOND, perSecond: REQUESTS_PER_SECOND };
  const traffic = new Traffic(() => front.url, world.credentials, options);
  for (let round = 0; round < rounds; round++)
    for (const host of HOSTS) {
      const replica = replicas.get(host);
      replica?.signal('SIGTERM');
      await replica?.waitForExit();
      replicas.set(host, await start(host));
      await pause(NOTICED_MS);
    }
  const report = await traffic.stop();
  await front.stop();
  const what = `${name}: ${rounds} restarts of each of ${HOSTS.length} replicas`;
  return [`${what}: ${failuresIn(report)}`, ...report.failures.slice(0, 3)].join('\n');
}

function startFront(balancer: Run['balancer'], ports: Record<'PORT' | 'MANAGEMENT_PORT', string>): Promise<Front> {
  const replicas = HOSTS.map((host) => `${host}:${ports.PORT}`);
  if (balancer === 'nginx') return startNginx(replicas, (text) => withUnlimitedCaller(text, '127.0.0.1'));
  return startBalancer(balancer, ports, withThirdReplica);
}

/** Adds a third replica to the configuration in docs/balancers.md, in the form of HAProxy or of Caddy. */
const withThirdReplica = (configuration: string): string =>
  configuration
    .replace('server b 10.0.0.2:3000', '$&\n  server c 10.0.0.3:3000')
    .replace('10.0.0.2:3000 {', '10.0.0.2:3000 10.0.0.3:3000 {');
