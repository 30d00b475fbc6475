import { afterEach, expect, it } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { until } from '../../test/support/until.js';
import { DatabaseClock } from '../database/database-clock.js';
import type { DatabaseSessions } from '../database/database-sessions.js';
import { DatabaseStatus } from '../database/database-status.js';
import type { Session } from '../database/session.js';
import { Metrics } from '../telemetry/metrics.js';
import type { ServiceLogger } from '../telemetry/service-logger.js';
import { PolledSnapshot } from './polled-snapshot.js';
import { SnapshotFollower } from './snapshot-follower.js';
import type { ReadResult, Topic } from './topic.js';

const ROWS = [{ topic: 'codes', stamp: 'A', time: '1' }];
/** What pg gives for one statement, and for several ones in one text. */
const ANSWER = Object.assign([{ command: 'SELECT', rows: ROWS }], { rows: ROWS });
const session = { query: () => Promise.resolve(ANSWER) } as unknown as Session;
const manager = { query: () => Promise.resolve() } as unknown as EntityManager;

type Use = (manager: EntityManager, session: Session) => Promise<void>;

interface World {
  readonly withSession?: (use: Use) => Promise<void>;
  readonly read?: () => Promise<ReadResult<string>>;
}

interface Line {
  readonly message: string;
  readonly reason?: string;
}

const ends: AbortController[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end.abort();
});

const unreachable = (): Promise<never> => Promise.reject(new Error('ECONNREFUSED'));

function start(world: World) {
  const {
    withSession = (use) => use(manager, session),
    read = () => Promise.resolve({ isServable: true, value: 'a' }),
  } = world;
  const warnings: Line[] = [];
  const logger = {
    log: () => undefined,
    warn: (entry: { message: string }) => warnings.push(entry),
    error: (entry: { message: string }) => warnings.push(entry),
  };
  const topic: Topic<string> = {
    name: 'codes',
    maxAgeSeconds: 900,
    lock: async () => undefined,
    read,
  };
  const metrics = new Metrics();
  const status = new DatabaseStatus(metrics);
  const snapshot = new PolledSnapshot<string>();
  const follower = new SnapshotFollower({
    topic,
    snapshot,
    sessions: { withSession } as unknown as DatabaseSessions,
    status,
    clock: new DatabaseClock(),
    metrics,
    logger: logger as unknown as ServiceLogger,
  });
  const stopping = new AbortController();
  ends.push(stopping);
  return { running: follower.run(stopping.signal), stopping, snapshot, status, warnings };
}

it('serves what was read, and the database answers', async () => {
  const { snapshot, status } = start({});
  await until(async () => snapshot.value === 'a');
  expect(snapshot.state.name).toBe('current');
  expect(status.isUp).toBe(true);
});

it('a reading that fails, or is unservable, is an answer of the database', async () => {
  const failing = start({ read: () => Promise.reject(new Error('locked')) });
  await until(async () => failing.warnings.some(({ reason }) => reason === 'locked'));
  expect(failing.status.isUp).toBe(true);
  expect(failing.snapshot.state.name).toBe('unread');

  const unservable = start({ read: async () => ({ isServable: false, reason: 'empty' }) });
  await until(async () => unservable.warnings.length > 0);
  expect(unservable.status.isUp).toBe(true);
  expect(unservable.snapshot.value).toBeUndefined();
  expect(unservable.warnings).toEqual([
    expect.objectContaining({
      message: 'snapshot: refused, callers get 503',
      reason: 'empty',
      remedy: expect.stringContaining('by a migration'),
    }),
  ]);
});

it('a poll that fails is none: callers are refused, and the log says so', async () => {
  const { snapshot, status, warnings } = start({ withSession: unreachable });
  await until(async () => warnings.length > 0);
  expect(snapshot.value).toBeUndefined();
  expect(status.isUp).toBe(false);
  expect(warnings).toMatchObject([{ message: 'database (codes): failed, callers are refused' }]);
});

it('an end while the first poll is under way says nothing', async () => {
  let fail = (_error: Error): void => undefined;
  const polling = new Promise<void>((_resolve, reject) => {
    fail = reject;
  });
  const { running, stopping, warnings } = start({ withSession: () => polling });
  stopping.abort();
  fail(new Error('the session was closed'));
  await running;
  expect(warnings).toEqual([]);
});
