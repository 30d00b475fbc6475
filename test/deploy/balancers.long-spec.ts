// Runs HAProxy and Caddy with the files of docs/balancers.md. Each of them distributes requests to two replicas.
import { describe, expect, it } from '@jest/globals';
import { BALANCERS, isInstalled, startBalancer, withLongTimeouts } from '../support/gateways.js';
import { issueKey } from '../support/api-keys.js';
import { findFreePort } from '../support/ports.js';
import { processWorld } from '../support/test-world.js';
import { Traffic } from '../support/traffic.js';
import { until } from '../support/until.js';

// The replicas of docs/balancers.md, at addresses of this machine
const FIRST = '127.0.0.1';
const SECOND = '127.0.0.2';
/** Enough requests that each replica gets many of them, whatever rule the balancer uses. */
const REQUESTS = 100;

const world = processWorld({ replicas: 0 });

describe.each(BALANCERS)('%s', (name) => {
  if (!isInstalled(name)) process.stderr.write(`SKIPPED: the test of ${name} as a balancer needs it.\n`);
  const test = isInstalled(name) ? it : it.skip;

  test('with the file of docs/balancers.md loses no request while one replica ends and another is killed', async () => {
    const { key } = await issueKey(world.database, { client: name });
    const ports = { PORT: String(await findFreePort()), MANAGEMENT_PORT: String(await findFreePort()) };
    const first = await world.startReadyReplica({ HOST: FIRST, ...ports });
    const second = await world.startReadyReplica({ HOST: SECOND, ...ports });
    const front = await startBalancer(name, ports, withLongTimeouts);
    const credentials = { key, token: world.token };
    const traffic = new Traffic(() => front.url, credentials, { perSecond: 50 });
    try {
      await until(async () => traffic.asked >= REQUESTS);
      first.signal('SIGTERM');
      expect(await first.waitForExit()).toBe(0);
      const restarted = await world.startReadyReplica({ HOST: FIRST, ...ports });
      const answered = `order_lookup_client_requests_total{client="${name}",status="200"}`;
      await until(async () => (await restarted.readMetric(answered)) > 0); // the balancer uses the restarted replica again

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
