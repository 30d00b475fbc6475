import { afterEach, expect, it } from '@jest/globals';
import { until } from '../../../test/support/until.js';
import type { DatabaseSessions } from '../../database/database-sessions.js';
import type { ServiceLogger } from '../../telemetry/service-logger.js';
import { KeyUse } from './key-use.js';

interface Started {
  readonly keyUse: KeyUse;
  readonly sessions: { isUsable: boolean; calls: number };
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
  const sessions = {
    isUsable: true,
    calls: 0,
    withSession(): Promise<void> {
      sessions.calls += 1;
      return write();
    },
  };
  const logger = { log: () => undefined, warn: (entry: unknown) => warnings.push(entry) };
  const keyUse = new KeyUse(sessions as unknown as DatabaseSessions, logger as unknown as ServiceLogger);
  started.push(keyUse);
  keyUse.onApplicationBootstrap();
  return { keyUse, sessions, warnings };
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
    await until(async () => slow.sessions.calls > 0 && quick.sessions.calls === write);
  }
  expect(slow.sessions.calls).toBe(1);
  release();
  await until(async () => slow.sessions.calls === 2);
});

it('says once what prevents it, such as a right that is missing, and goes on', async () => {
  const { keyUse, sessions, warnings } = start(() => Promise.reject(new Error('permission denied')));
  for (let write = 1; write <= 2; write++) {
    keyUse.note(String(write));
    await until(async () => sessions.calls === write);
  }
  expect(warnings).toEqual([
    expect.objectContaining({
      message: 'noting the use of API keys: failed, retrying',
      reason: 'permission denied',
    }),
  ]);
});

it('does not write before the database has answered, and says nothing of it', async () => {
  const { keyUse, sessions, warnings } = start(() => Promise.resolve());
  const other = start(() => Promise.resolve());
  sessions.isUsable = false;
  keyUse.note('1');
  for (let write = 1; write <= 2; write++) {
    other.keyUse.note(String(write));
    await until(async () => other.sessions.calls === write);
  }
  expect([sessions.calls, warnings]).toEqual([0, []]);
});
