// Tests replicas whose clocks differ by minutes. A moment is a time at which codes begin or end. After a moment, each
// replica has to answer with other codes. `npm run faults -- moment` measures how far apart the replicas do so.
import { beforeAll, expect, it } from '@jest/globals';
import { skewedClock } from '../support/preload.js';
import { watchMoments } from '../support/effective-times.js';
import { processWorld } from '../support/test-world.js';

const CLOCKS_AHEAD_MS = [-90_000, 0, 90_000];
const world = processWorld({ replicas: 0, hasOwnPostgres: true });
beforeAll(async () => {
  const started = CLOCKS_AHEAD_MS.map((aheadMs) => world.startReadyReplica(skewedClock(aheadMs)));
  world.replicas.push(...(await Promise.all(started)));
});

it('three replicas begin and end codes by the clock of the database, also while the database is away', async () => {
  const moments = { count: 4, apartMs: 300, everyMs: 20 };
  const watched = await watchMoments(world, moments, () => world.postgres.stop());
  expect(watched.faulty).toEqual([]);
  expect(watched.early).toEqual([]);
  expect(watched.delaysMs).not.toContainEqual(NaN); // NaN means that a replica did not switch
  // By its own clock, the replica that is 90 s behind would switch 90 s late. The limit is half of that
  expect(Math.max(...watched.delaysMs)).toBeLessThan(45_000);
});
