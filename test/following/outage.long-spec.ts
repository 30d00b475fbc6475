// Stops, kills, restarts and pauses PostgreSQL under traffic. `npm run faults -- outage` does so for as long as you
// like. following.e2e-spec.ts tests lost connections.
import { expect, it } from '@jest/globals';
import { sendTrafficDuring } from '../support/outage.js';
import { processWorld } from '../support/test-world.js';
import { until } from '../support/until.js';

const world = processWorld({ replicas: 2, hasOwnPostgres: true });

const untilNoticed = (): Promise<void> =>
  until(async () => {
    const asking = world.replicas.map((replica) => replica.readMetric('order_lookup_database_up'));
    const values = await Promise.all(asking);
    return values.every((value) => value === 0);
  });

interface Fault {
  readonly what: string;
  readonly begin: () => Promise<void>;
  readonly lastsUntilNoticed?: boolean;
  readonly end: () => void | Promise<void>;
}

const FAULTS: readonly Fault[] = [
  {
    what: 'stopped',
    begin: () => world.postgres.stop(),
    lastsUntilNoticed: true,
    end: () => world.postgres.start(),
  },
  {
    what: 'killed',
    begin: () => world.postgres.kill(),
    lastsUntilNoticed: true,
    end: () => world.postgres.start(),
  },
  { what: 'restarted', begin: () => world.postgres.stop(), end: () => world.postgres.start() },
  {
    what: 'paused by SIGSTOP',
    begin: () => world.postgres.pause(),
    lastsUntilNoticed: true,
    end: () => world.postgres.resume(),
  },
];

it.each(FAULTS)(
  'no request fails while PostgreSQL is $what, and then a change is served',
  async ({ begin, lastsUntilNoticed, end }) => {
    const fault = async (): Promise<void> => {
      await begin();
      if (lastsUntilNoticed) await untilNoticed();
      await end();
    };
    // Also waits until each replica serves a change that is committed after the fault
    const { traffic, readiness } = await sendTrafficDuring(fault, world, { perSecond: 100 });
    expect(traffic.failures).toEqual([]);
    expect(readiness.not200).toBe(0);
  },
);
