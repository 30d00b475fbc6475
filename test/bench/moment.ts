import { setTimeout as pause } from 'node:timers/promises';
import { beginTenth } from './database.js';
import type { Server } from './process.js';

/** Later than the reading of the change, and than the time at which the service begins to prepare for a moment. */
const AHEAD_SECONDS = 45;

/**
 * Milliseconds that a turn of the event loop took at most while the service prepared for a moment at which a tenth of the codes begins, and
 * switched.
 */
export async function measureMoment(server: Server, databaseUrl: string): Promise<number> {
  const moment = await beginTenth(databaseUrl, AHEAD_SECONDS);
  while ((await server.metric('order_lookup_next_moment_timestamp_seconds')) * 1000 !== moment)
    await pause(200);
  const spare = moment - Date.now();
  if (spare < 15_000)
    throw new Error(`the moment was known ${spare} ms before it, too late to measure it`);
  await server.longestTurn(); // begins anew
  await pause(moment + 1_000 - Date.now());
  const longest = await server.longestTurn();
  if ((await server.metric('order_lookup_moments_switched_total')) === 0)
    throw new Error('the service has not switched');
  return longest;
}
