import { afterEach, expect, it } from '@jest/globals';
import { until } from '../../../test/support/until.js';
import type { Database } from '../../database/database.js';
import type { Kind } from '../../database/transactions.js';
import type { ServiceLogger } from '../../telemetry/service-logger.js';
import { KeyUse } from './key-use.js';

interface Started {
  readonly keyUse: KeyUse;
  readonly database: { isUsable: boolean; calls: number };
  readonly warnings: unknown[];
}

const started: KeyUse[] = [];
afterEach(() => {
  for (const keyUse of started.splice(0)) keyUse.onApplicationShutdown();
});

/**
 * A second one whose writes work is the clock: when it has written, the other one had its turn, too.
 * @param write what becomes of each write
 */
function start(write: () => Promise<void>): Started {
  const warnings: unknown[] = [];
  const database = {
    isUsable: true,
    calls: 0,
    async within(kind: Kind): Promise<unknown> {
      if (kind === 'poll') return { rows: [{ isStandby: false }] };
      database.calls += 1;
      return write();
    },
  };
  const logger = { log: () => undefined, warn: (entry: unknown) => warnings.push(entry) };
  const keyUse = new KeyUse(database as unknown as Database, logger as unknown as ServiceLogger);
  started.push(keyUse);
  keyUse.onApplicationBootstrap();
  return { keyUse, database, warnings };
}

it('writes one time after the other, however long a write takes: the sessions are few', async () => {
  let release = (): void => undefined;
  const locked = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow = start(() => locked);
  const quick = start(() => Promise.resolve());
  for (let write = 1; write <= 3; write++) {
    slow.keyUse.note(String(write));
    quick.keyUse.note(String(write));
    await until(async () => slow.database.calls > 0 && quick.database.calls === write);
  }
  expect(slow.database.calls).toBe(1);
  release();
  await until(async () => slow.database.calls === 2);
});

it('says once what prevents it, such as a right that is missing, and goes on', async () => {
  const { keyUse, database, warnings } = start(() => Promise.reject(new Error('permission denied')));
  for (let write = 1; write <= 2; write++) {
    keyUse.note(String(write));
    await until(async () => database.calls === write);
  }
  expect(warnings).toEqual([
    expect.objectContaining({
      message: 'noting the use of API keys: failed, retrying',
      reason: 'permission denied',
    }),
  ]);
});

it('does not write before the database has answered, and says nothing of it', async () => {
  const { keyUse, database, warnings } = start(() => Promise.resolve());
  const other = start(() => Promise.resolve());
  database.isUsable = false;
  keyUse.note('1');
  for (let write = 1; write <= 2; write++) {
    other.keyUse.note(String(write));
    await until(async () => other.database.calls === write);
  }
  expect([database.calls, warnings]).toEqual([0, []]);
});
