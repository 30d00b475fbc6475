// Two long runs. They report what callers get while all codes change, and when codes begin or end. Mixed answers do not
// make a run fail: read its report.
import { skewedClock } from '../support/preload.js';
import { flipCodes } from '../support/flipping.js';
import { watchMoments } from '../support/effective-times.js';
import type { World } from '../support/world.js';
import { quantiles } from './figures.js';

/** Reports the answers of all replicas, while a writer changes all codes from one set to another and back. */
export async function flip(world: World, leastReplies = 1_000_000): Promise<string> {
  const { database, replicas, credentials } = world;
  const found = await flipCodes(database, replicas, credentials, { wanted: leastReplies });
  const { flips, faults, seen, replies } = found;
  return [
    `${replies} replies of ${replicas.length} replicas during ${flips} flips of every code: ` +
      `${faults.length} mixed or with a wrong entity tag; ` +
      `${seen.plain} of the one set, ${seen.flipped} of the other`,
    ...faults.slice(0, 5),
  ].join('\n');
}

/**
 * Commits codes that begin at many times (moments), and asks three replicas whose clocks differ. Reports how much later
 * the last replica serves them than the first one. PostgreSQL is stopped during the later half of the moments.
 */
export async function moment(world: World, count = 50): Promise<string> {
  for (const ahead of [-90_000, 0, 90_000]) world.replicas.push(await world.startReadyReplica(skewedClock(ahead)));
  const watched = await watchMoments(world, { count, apartMs: 500 }, () => world.postgres.stop());
  const { replies, spreadsMs, delaysMs, faulty, early } = watched;
  return [
    `${count} moments on ${world.replicas.length} replicas whose clocks are 90 s apart, ` +
      `the later half with PostgreSQL stopped; ${replies} replies`,
    `between the first and the last replica: ${quantiles(spreadsMs)}`,
    `after the moment: ${quantiles(delaysMs)}`,
    `${faulty.length} faulty, ${early.length} early`,
    ...[...faulty, ...early].slice(0, 5),
  ].join('\n');
}
