import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Database } from '../../database/database.js';
import type { Kind } from '../../database/transactions.js';
import type { ServiceLogger } from '../../telemetry/service-logger.js';
import { KeyUse } from './key-use.js';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

let keyUse: KeyUse;
let database: {
  isLoggedIn: boolean;
  isStandby: boolean;
  /** The ids of the keys in each write. */
  readonly writes: (readonly string[])[];
  finishWrite: () => Promise<void>;
};
let infos: unknown[];
let warnings: unknown[];

beforeEach(() => {
  jest.useFakeTimers();
  database = { isLoggedIn: true, isStandby: false, writes: [], finishWrite: () => Promise.resolve() };
  infos = [];
  warnings = [];
  const session = {
    query: async (text: string, [keyIds]: [readonly string[]] = [[]]): Promise<unknown> => {
      if (text.includes('pg_is_in_recovery')) return { rows: [{ isStandby: database.isStandby }] };
      database.writes.push(keyIds);
      return database.finishWrite();
    },
  };
  const within = (_kind: Kind, work: (given: typeof session) => Promise<unknown>): Promise<unknown> => work(session);
  const logger = { log: (entry: unknown) => infos.push(entry), warn: (entry: unknown) => warnings.push(entry) };
  const asDatabase = Object.assign(database, { within }) as unknown as Database;
  keyUse = new KeyUse(asDatabase, logger as unknown as ServiceLogger);
  keyUse.onApplicationBootstrap();
});
afterEach(() => {
  keyUse.onApplicationShutdown();
  jest.useRealTimers();
});

describe('the use of a key', () => {
  it('is written within a second, together with the uses of other keys', async () => {
    for (const keyId of ['1', '2', '1']) keyUse.note(keyId);
    await jest.advanceTimersByTimeAsync(SECOND_MS);
    expect(database.writes).toEqual([['1', '2']]);
  });

  it('is written once in each minute, as long as the key is used', async () => {
    for (let second = 0; second < 150; second++) {
      keyUse.note('1');
      await jest.advanceTimersByTimeAsync(SECOND_MS);
    }
    expect(database.writes).toEqual([['1'], ['1'], ['1']]);
  });

  it('is not written after the end of the service', async () => {
    keyUse.onApplicationShutdown();
    keyUse.note('1');
    await jest.advanceTimersByTimeAsync(MINUTE_MS);
    expect(database.writes).toEqual([]);
    expect(jest.getTimerCount()).toBe(0);
  });
});

it('a write begins only after the former write has ended, so that writes use one database session', async () => {
  let release = (): void => undefined;
  database.finishWrite = () =>
    new Promise((resolve) => {
      release = resolve;
    });
  for (const keyId of ['1', '2', '3']) {
    keyUse.note(keyId);
    await jest.advanceTimersByTimeAsync(SECOND_MS);
  }
  expect(database.writes).toEqual([['1']]);
  release();
  await jest.advanceTimersByTimeAsync(SECOND_MS);
  expect(database.writes).toEqual([['1'], ['2', '3']]);
});

it('after a failed write the next write is tried. The log says once that writes fail, and once that they work again', async () => {
  database.finishWrite = () => Promise.reject(new Error('permission denied'));
  for (const keyId of ['1', '2']) {
    keyUse.note(keyId);
    await jest.advanceTimersByTimeAsync(SECOND_MS);
  }
  expect(database.writes).toEqual([['1'], ['2']]);
  expect(warnings).toEqual([
    expect.objectContaining({
      message: 'noting the use of API keys: failed, retrying',
      reason: 'permission denied',
    }),
  ]);
  database.finishWrite = () => Promise.resolve();
  keyUse.note('3');
  await jest.advanceTimersByTimeAsync(SECOND_MS);
  expect(infos).toEqual([{ message: 'noting the use of API keys: works again', failures: 2 }]);
});

it('nothing is written or logged before the first login at the database', async () => {
  database.isLoggedIn = false;
  keyUse.note('1');
  await jest.advanceTimersByTimeAsync(2 * SECOND_MS);
  expect(database.writes).toEqual([]);
  expect(warnings).toEqual([]);
});

it('nothing is written on a hot standby, which would refuse the write', async () => {
  database.isStandby = true;
  keyUse.note('1');
  await jest.advanceTimersByTimeAsync(2 * SECOND_MS);
  expect(database.writes).toEqual([]);
  expect(warnings).toEqual([]);
});
