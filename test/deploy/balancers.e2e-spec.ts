// The files for HAProxy and Caddy in docs/balancers.md, in front of two replicas.
import { describe, expect, it } from '@jest/globals';
import { type Balanced, isInstalled, startBalancer, withLongLimits } from '../support/balancers.js';
import { freePort } from '../support/postgres-server.js';
import { until } from '../support/service.js';
import { Traffic } from '../support/traffic.js';
import { testWorld } from '../support/test-world.js';

const world = testWorld();

describe.each<Balanced>(['haproxy', 'caddy'])('%s as docs/balancers.md has it', (name) => {
  if (!isInstalled(name)) process.stderr.write(`SKIPPED: a test needs ${name}.\n`);
  (isInstalled(name) ? it : it.skip)(
    'loses no request while a replica ends and one is killed',
    async () => {
      const [PORT, MANAGEMENT_PORT] = [String(await freePort()), String(await freePort())];
      const start = (HOST: string) => world.replica({ HOST, PORT, MANAGEMENT_PORT });
      const replicas = [await start('127.0.0.1'), await start('127.0.0.2')];
      const balancer = await startBalancer(name, { PORT, MANAGEMENT_PORT }, withLongLimits);
      const traffic = new Traffic(() => balancer.url, world.credentials, { perSecond: 50 });
      replicas[0]?.signal('SIGTERM');
      expect(await replicas[0]?.exited()).toBe(0);
      const restarted = await start('127.0.0.1');
      // Until the balancer uses it again
      await until(async () => (await restarted.metric('order_lookup_http_requests_total')) > 0);
      await replicas[1]?.kill();
      await until(async () => traffic.asked > 50);
      const { failures } = await traffic.stop();
      await balancer.stop();
      expect(failures).toEqual([]);
    },
  );
});
