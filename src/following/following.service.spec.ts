import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { silentLogger } from '../../test/support/silent-logger.js';
import type { Database } from '../database/database.js';
import { Metrics } from '../telemetry/metrics.js';
import { DatabaseClock } from './database-clock.js';
import { FollowingService } from './following.service.js';

it('the shutdown waits for the running polls, because their sessions are closed next', async () => {
  const polls: (() => void)[] = [];
  const waitForTest = () => new Promise<never>((_resolve, reject) => polls.push(() => reject(new Error('closed'))));
  const database = { within: waitForTest } as unknown as Database;
  const following = new FollowingService(database, new DatabaseClock(), new Metrics(), silentLogger);
  for (const name of ['codes', 'keys'] as const)
    following.follow({ name, tables: [], read: async () => [], prepare: () => 1, maxAgeSeconds: Infinity });
  following.onApplicationBootstrap();
  let hasEnded = false;
  const shutDown = async (): Promise<void> => {
    await following.onApplicationShutdown();
    hasEnded = true;
  };
  const end = shutDown();
  for (const [index, endPoll] of polls.entries()) {
    await turn();
    expect({ index, hasEnded }).toEqual({ index, hasEnded: false });
    endPoll();
  }
  await end;
  expect(polls).toHaveLength(2);
});
