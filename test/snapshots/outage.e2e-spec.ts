// The real server stopped, killed, restarted and paused under traffic. `npm run faults -- outage` does it for as
// long as you like.
import { expect, it } from '@jest/globals';
import { outlive } from '../support/outage.js';
import { until } from '../support/service.js';
import { testWorld } from '../support/test-world.js';

const stage = testWorld({}, undefined, 2);

const noticed = (): Promise<void> =>
  until(async () => {
    const up = stage.replicas.map((replica) => replica.metric('order_lookup_database_up'));
    return (await Promise.all(up)).every((value) => value === 0);
  });

it.each<[string, () => Promise<unknown>]>([
  ['stopped', () => stage.postgres.stop().then(noticed).then(stage.postgres.start)],
  ['killed', () => stage.postgres.kill().then(noticed).then(stage.postgres.start)],
  ['restarted', () => stage.postgres.stop().then(stage.postgres.start)],
  ['paused by SIGSTOP', () => stage.postgres.pause().then(noticed).then(stage.postgres.resume)],
])('no request fails while PostgreSQL is %s, and then a change is served', async (_, fault) => {
  const { traffic, readiness } = await outlive(stage, fault, { perSecond: 100 });
  expect(traffic.failures).toEqual([]);
  expect(readiness.not200).toBe(0);
});
