// The files for HAProxy and Caddy in docs/balancers.md, each in front of two replicas of its own.
import { describe, expect, it } from '@jest/globals';
import { BALANCERS, isInstalled, startBalancer, withLongLimits } from '../support/gateways.js';
import { issueKey } from '../support/api-keys.js';
import { freePort } from '../support/ports.js';
import { processWorld } from '../support/test-world.js';
import { Traffic } from '../support/traffic.js';
import { until } from '../support/until.js';

/** The addresses of the replicas on the page, on this machine. */
const FIRST = '127.0.0.1';
const SECOND = '127.0.0.2';
/** So many that both replicas had many of them, whichever the balancer chose. */
const REQUESTS = 100;

const world = processWorld({ replicas: 0 });

describe.each(BALANCERS)('%s', (name) => {
  if (!isInstalled(name)) process.stderr.write(`SKIPPED: the test of ${name} as a balancer needs it.\n`);
  const test = isInstalled(name) ? it : it.skip;

  test('as docs/balancers.md has it loses no request while a replica ends and one is killed', async () => {
    const { key } = await issueKey(world.database, { client: name });
    const ports = { PORT: String(await freePort()), MANAGEMENT_PORT: String(await freePort()) };
    const first = await world.replica({ HOST: FIRST, ...ports });
    const second = await world.replica({ HOST: SECOND, ...ports });
    const front = await startBalancer(name, ports, withLongLimits);
    const credentials = { key, token: world.token };
    const traffic = new Traffic(() => front.url, credentials, { perSecond: 50 });
    try {
      await until(async () => traffic.asked >= REQUESTS);
      first.signal('SIGTERM');
      expect(await first.exited()).toBe(0);
      const restarted = await world.replica({ HOST: FIRST, ...ports });
      const answered = `order_lookup_client_requests_total{client="${name}",status="200"}`;
      await until(async () => (await restarted.metric(answered)) > 0); // the balancer uses it again

      await second.kill();
      const askedBefore = traffic.asked;
      await until(async () => traffic.asked >= askedBefore + REQUESTS);
      const report = await traffic.stop();
      expect(report.failures).toEqual([]);
    } finally {
      await traffic.stop();
      await front.stop();
    }
  });
});
