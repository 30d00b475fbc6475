import { setTimeout as pause } from 'node:timers/promises';
import { failuresIn } from './figures.js';
import { startBalancer } from '../support/balancers.js';
import { startNginx } from '../support/nginx.js';
import { freePort } from '../support/postgres-server.js';
import type { RunningService } from '../support/service.js';
import { Traffic, WITHIN_A_SECOND } from '../support/traffic.js';
import type { World } from '../support/world.js';

const ROUNDS = 10;
/** In which a balancer notices that a replica is back. */
const NOTICED_MS = 3_000;
const DRAINS = [4, 15];

/**
 * Restarts replicas under traffic behind nginx with deploy/nginx, and behind HAProxy and Caddy as docs/operators.md has
 * them, each for several values of DRAIN_SECONDS: all at once, each with replicas of its own. Gives what failed.
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
          ? await startNginx(replicas.map(({ url }) => new URL(url).host))
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
