// The real server stopped, killed, restarted and paused under traffic; `npm run faults -- outage` does it for as long as you like.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Outage, outlive } from '../support/outage.js';
import { until } from '../support/service.js';
import { World } from '../support/world.js';

const OPTIONS = { perSecond: 100 };
let stage: World;
beforeAll(async () => {
  stage = await World.apart(2);
});
afterAll(() => stage?.close());

const noticed = (): Promise<void> =>
  until(async () =>
    (
      await Promise.all(stage.replicas.map((replica) => replica.metric('order_lookup_database_up')))
    ).every((up) => up === 0),
  );

function expectUnharmed({ traffic, readiness }: Outage): void {
  expect(traffic.failures).toEqual([]);
  expect(traffic.asked).toBeGreaterThan(20);
  expect(readiness.not200).toBe(0);
}

describe('no request fails while PostgreSQL is', () => {
  it('stopped, and what is committed at its return is served', async () => {
    const stopped = () => stage.postgres.stop().then(noticed).then(stage.postgres.start);
    expectUnharmed(await outlive(stage, stopped, OPTIONS));
  });

  it('killed', async () => {
    const killed = () => stage.postgres.kill().then(noticed).then(stage.postgres.start);
    expectUnharmed(await outlive(stage, killed, OPTIONS));
  });

  it('restarted', async () => {
    expectUnharmed(
      await outlive(stage, () => stage.postgres.stop().then(stage.postgres.start), OPTIONS),
    );
  });

  it('paused by SIGSTOP, which is detected', async () => {
    const paused = () => stage.postgres.pause().then(noticed).then(stage.postgres.resume);
    expectUnharmed(await outlive(stage, paused, OPTIONS));
  });
});
