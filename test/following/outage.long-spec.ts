// Stops, kills, restarts and pauses the real server under traffic. `npm run faults -- outage` does it for as long as
// you like. following.e2e-spec.ts tests lost connections.
import { expect, it } from '@jest/globals';
import { outlive } from '../support/outage.js';
import { processWorld } from '../support/test-world.js';
import { until } from '../support/until.js';

const world = processWorld({ replicas: 2, hasOwnPostgres: true });

const noticed = (): Promise<void> =>
  until(async () => {
    const asking = world.replicas.map((replica) => replica.metric('order_lookup_database_up'));
    const values = await Promise.all(asking);
    return values.every((value) => value === 0);
  });

interface Fault {
  readonly what: string;
  readonly begin: () => Promise<void>;
  readonly isNoticed?: boolean;
  readonly end: () => void | Promise<void>;
}

const FAULTS: readonly Fault[] = [
  {
    what: 'stopped',
    begin: () => world.postgres.stop(),
    isNoticed: true,
    end: () => world.postgres.start(),
  },
  {
    what: 'killed',
    begin: () => world.postgres.kill(),
    isNoticed: true,
    end: () => world.postgres.start(),
  },
  { what: 'restarted', begin: () => world.postgres.stop(), end: () => world.postgres.start() },
  {
    what: 'paused by SIGSTOP',
    begin: () => world.postgres.pause(),
    isNoticed: true,
    end: () => world.postgres.resume(),
  },
];

it.each(FAULTS)(
  'no request fails while PostgreSQL is $what, and then a change is served',
  async ({ begin, isNoticed, end }) => {
    const fault = async (): Promise<void> => {
      await begin();
      if (isNoticed) await noticed();
      await end();
    };
    const { traffic, readiness } = await outlive(world, fault, { perSecond: 100 });
    expect(traffic.failures).toEqual([]);
    expect(readiness.not200).toBe(0);
  },
);
