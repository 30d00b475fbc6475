import { afterEach, expect, it } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { until } from '../../test/support/until.js';
import { DatabaseClock } from '../database/database-clock.js';
import type { DatabaseSessions } from '../database/database-sessions.js';
import { DatabaseStatus } from '../database/database-status.js';
import type { Session } from '../database/session.js';
import { Metrics } from '../telemetry/metrics.js';
import type { ServiceLogger } from '../telemetry/service-logger.js';
import type { LastGoodTopic } from './last-good-topic.js';
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
  /** The stamp of what an earlier process saved. */
  readonly savedStamp?: string;
  readonly savedAtMonotonicMs?: number;
  readonly isSaved?: boolean;
  readonly maxAgeSeconds?: number;
  readonly withSession?: (use: Use) => Promise<void>;
  readonly read?: () => Promise<ReadResult<string>>;
}

interface Line {
  readonly message: string;
  readonly reason?: string;
  readonly ageSeconds?: number;
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
    savedStamp = 'A',
    savedAtMonotonicMs = 0,
    isSaved = true,
    maxAgeSeconds = 900,
  } = world;
  const warnings: Line[] = [];
  const loads: string[] = [];
  const logger = {
    log: () => undefined,
    warn: (entry: { message: string }) => warnings.push(entry),
    error: (entry: { message: string }) => warnings.push(entry),
  };
  const lastGood = {
    load: async () => {
      loads.push('load');
      if (!isSaved) return undefined;
      return {
        value: 'saved',
        stamp: savedStamp,
        confirmedAtMonotonicMs: savedAtMonotonicMs,
        servedSinceEpochMs: 0,
      };
    },
  };
  const topic: Topic<string> = {
    name: 'codes',
    maxAgeSeconds,
    lock: async () => undefined,
    read,
    toJson: (value) => value,
    fromJson: String,
  };
  const metrics = new Metrics();
  const status = new DatabaseStatus(metrics);
  const snapshot = new PolledSnapshot<string>();
  const follower = new SnapshotFollower({
    topic,
    snapshot,
    lastGood: lastGood as unknown as LastGoodTopic<string>,
    sessions: { withSession } as unknown as DatabaseSessions,
    status,
    clock: new DatabaseClock(),
    metrics,
    logger: logger as unknown as ServiceLogger,
  });
  const stopping = new AbortController();
  ends.push(stopping);
  return { running: follower.run(stopping.signal), stopping, snapshot, status, warnings, loads };
}

it('serves what was read, and the database answers', async () => {
  const { snapshot, status } = start({});
  await until(async () => snapshot.value === 'a');
  expect(snapshot.state.name).toBe('current');
  expect(status.isUp).toBe(true);
});

it('a reading that fails, or is unservable, is an answer of the database', async () => {
  const failing = start({
    read: () => Promise.reject(new Error('locked')),
    savedStamp: 'B',
  });
  await until(async () => failing.warnings.some(({ reason }) => reason === 'locked'));
  expect(failing.status.isUp).toBe(true);
  expect(failing.snapshot.state.name).toBe('unread');

  const unservable = start({
    read: async () => ({ isServable: false, reason: 'empty' }),
    savedStamp: 'B',
  });
  await until(async () => unservable.warnings.some(({ reason }) => reason === 'empty'));
  expect(unservable.status.isUp).toBe(true);
  expect(unservable.snapshot.state.name).toBe('unservable-former-served');
});

const messages = (lines: readonly Line[]): readonly string[] => lines.map(({ message }) => message);

it('content that cannot be served: what an earlier process saved is served, or callers get 503', async () => {
  const read = async (): Promise<ReadResult<string>> => ({ isServable: false, reason: 'empty' });
  const { snapshot, warnings } = start({ read, savedStamp: 'B' });
  await until(async () => warnings.length > 1);
  expect(snapshot.value).toBe('saved');
  expect(messages(warnings)).toEqual(['LAST_GOOD_FOLDER is served', 'snapshot: refused, the former one is served']);

  const without = start({ read, isSaved: false });
  await until(async () => without.warnings.length > 0);
  expect(without.snapshot.value).toBeUndefined();
  expect(without.warnings).toEqual([
    expect.objectContaining({
      message: 'snapshot: refused, callers get 503',
      reason: 'empty',
      remedy: expect.stringContaining('by a migration'),
    }),
  ]);
});

it('a poll that fails is none, and what an earlier process saved is served before callers are refused', async () => {
  const { snapshot, status, warnings } = start({ withSession: unreachable });
  await until(async () => warnings.length > 1);
  expect(snapshot.value).toBe('saved');
  expect(status.isUp).toBe(false);
  expect(messages(warnings)).toEqual(['LAST_GOOD_FOLDER is served', 'database (codes): failed, retrying']);
});

it.each([
  { age: 'of a second too much', savedAtMonotonicMs: -901_000, ageSeconds: expect.any(Number) },
  { age: 'that nobody knows', savedAtMonotonicMs: -Infinity, ageSeconds: undefined },
])('what has an age $age is not said to be served', async ({ savedAtMonotonicMs, ageSeconds }) => {
  const { warnings } = start({ withSession: unreachable, savedAtMonotonicMs });
  await until(async () => warnings.length > 1);
  const [first, second] = warnings;
  expect(first).toMatchObject({ message: 'LAST_GOOD_FOLDER: too old to be used', ageSeconds });
  expect(second?.message).toBe('database (codes): failed, callers are refused');
});

it('what has no greatest age is served, however old it is', async () => {
  const { warnings } = start({
    withSession: unreachable,
    savedAtMonotonicMs: -Infinity,
    maxAgeSeconds: Infinity,
  });
  await until(async () => warnings.length > 1);
  expect(messages(warnings)).toEqual(['LAST_GOOD_FOLDER is served', 'database (codes): failed, retrying']);
});

it('a first poll that gets no answer: after a second what an earlier process kept is served', async () => {
  const { snapshot, warnings } = start({ withSession: () => new Promise(() => undefined) });
  await until(async () => snapshot.value === 'saved');
  expect(warnings.map(({ message }) => message)).toEqual(['LAST_GOOD_FOLDER is served']);
});

it('an end while the first poll is under way restores nothing, and says nothing', async () => {
  let fail = (_error: Error): void => undefined;
  const polling = new Promise<void>((_resolve, reject) => {
    fail = reject;
  });
  const { running, stopping, snapshot, warnings, loads } = start({ withSession: () => polling });
  stopping.abort();
  fail(new Error('the session was closed'));
  await running;
  expect(snapshot.value).toBeUndefined();
  expect([warnings, loads]).toEqual([[], []]);
});
