// The files for HAProxy and Caddy in docs/balancers.md, both in front of the same two replicas.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import {
  BALANCERS,
  type BalancerName,
  type Front,
  isInstalled,
  startBalancer,
  withLongLimits,
} from '../support/balancers.js';
import { issueKey } from '../support/keys.js';
import { freePort } from '../support/postgres-server.js';
import type { RunningService } from '../support/service.js';
import { processWorld } from '../support/test-world.js';
import { Traffic } from '../support/traffic.js';
import { until } from '../support/until.js';

const ports = { PORT: String(await freePort()), MANAGEMENT_PORT: String(await freePort()) };
/** The addresses of the pages, on this machine. */
const FIRST = '127.0.0.1';
const SECOND = '127.0.0.2';

const PER_SECOND = { perSecond: 50 };

/** A balancer that runs, with a caller of its own. */
interface Balanced {
  readonly name: BalancerName;
  readonly front: Front;
  readonly key: string;
}

const installed = BALANCERS.filter(isInstalled);
if (installed.length < BALANCERS.length)
  process.stderr.write(`SKIPPED: a test needs ${BALANCERS.join(' and ')}.\n`);

const world = processWorld({ replicas: 0 });
const balancers: Balanced[] = [];
let first: RunningService;
let second: RunningService;

const startReplica = (HOST: string): Promise<RunningService> => world.replica({ HOST, ...ports });

beforeAll(async () => {
  const keys = new Map<BalancerName, string>();
  for (const name of installed)
    keys.set(name, (await issueKey(world.database, { client: name })).key);
  first = await startReplica(FIRST);
  second = await startReplica(SECOND);
  for (const [name, key] of keys)
    balancers.push({ name, key, front: await startBalancer(name, ports, withLongLimits) });
});
afterAll(() => Promise.all(balancers.map(({ front }) => front.stop())));

(installed.length > 0 ? it : it.skip)(
  'HAProxy and Caddy as docs/balancers.md has them lose no request while a replica ends and one is killed',
  async () => {
    const traffics = balancers.map(
      ({ front, key }) => new Traffic(() => front.url, { key, token: world.token }, PER_SECOND),
    );
    first.signal('SIGTERM');
    expect(await first.exited()).toBe(0);
    const restarted = await startReplica(FIRST);
    for (const { name } of balancers) {
      const answered = `order_lookup_client_requests_total{client="${name}",status="200"}`;
      await until(async () => (await restarted.metric(answered)) > 0); // the balancer uses it again
    }
    await second.kill();
    await until(async () => traffics.every(({ asked }) => asked > 50));

    const reports = await Promise.all(traffics.map((traffic) => traffic.stop()));
    expect(reports.flatMap(({ failures }) => failures)).toEqual([]);
  },
);
