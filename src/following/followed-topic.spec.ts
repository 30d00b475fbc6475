import { afterEach, expect, it, jest } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { until } from '../../test/support/until.js';
import type { Session } from '../database/session.js';
import { Metrics } from '../telemetry/metrics.js';
import type { ServiceLogger } from '../telemetry/service-logger.js';
import { DatabaseClock } from './database-clock.js';
import { FollowedTopic, RefusedContent } from './followed-topic.js';

const TEN_MINUTES_MS = 10 * 60_000;
const BAD = 'bad';

const running: AbortController[] = [];
afterEach(() => {
  for (const stopping of running.splice(0)) stopping.abort();
  jest.restoreAllMocks();
});

/** A database whose content is one text, and the topic that follows it. */
function start({ content = 'a', isAway = false } = {}) {
  const database = { revision: 'A', content, isAway, isLocked: false };
  /** What happened, in its order, but for polls that named what was known. */
  const events: string[] = [];
  const lines: { message: string }[] = [];
  const polls = { count: 0 };
  const session = {
    serverVersion: 17,
    query: async () => {
      const rows = [{ topic: 'codes', stamp: database.revision, time: '1' }];
      // What pg gives for one statement, and for several ones in one text
      return Object.assign([{ command: 'SELECT', rows }], { rows });
    },
  } as unknown as Session;
  const sessions = {
    async withSession<R>(use: (session: Session, manager: EntityManager) => Promise<R>): Promise<R> {
      polls.count += 1;
      if (database.isAway) throw new Error('ECONNREFUSED');
      const result = await use(session, {} as EntityManager);
      if (result !== undefined) events.push('session given back');
      return result;
    },
  };
  const logger = {
    log: () => undefined,
    warn: (line: { message: string }) => lines.push(line),
    error: (line: { message: string }) => lines.push(line),
  } as unknown as ServiceLogger;
  const topic = new FollowedTopic<string, string>({
    topic: {
      name: 'codes',
      tables: [],
      read: async () => {
        if (database.isLocked) throw new Error('canceling statement due to lock timeout');
        events.push(`read ${database.content}`);
        return database.content;
      },
      prepare: (rows) => {
        if (rows === BAD) throw new RefusedContent('it is bad');
        events.push(`prepared ${rows}`);
        return rows;
      },
      maxAgeSeconds: 900,
    },
    sessions,
    clock: new DatabaseClock(),
    metrics: new Metrics(),
    logger,
  });
  const change = (revision: string, text: string): void => void Object.assign(database, { revision, content: text });
  const stopping = new AbortController();
  running.push(stopping);
  return { topic, database, change, events, lines, polls, stopping, ended: topic.run(stopping.signal) };
}

const served = async ({ topic }: ReturnType<typeof start>, value: string): Promise<void> =>
  until(async () => topic.value === value);
/** Waits until the database was asked again and has confirmed what is served. */
const confirmed = async ({ topic }: ReturnType<typeof start>): Promise<void> => {
  const { ageSeconds } = topic;
  await until(async () => topic.ageSeconds < ageSeconds);
};
/** Waits until a reading that is due at the next poll has ended, whatever came of it. */
const pollsPassed = async ({ polls }: ReturnType<typeof start>): Promise<void> => {
  const { count } = polls;
  await until(async () => polls.count >= count + 3);
};

it('reads a revision once, and prepares its value when the session with its locks was given back', async () => {
  const started = start();
  await served(started, 'a');
  await confirmed(started);
  started.change('B', 'b');
  await served(started, 'b');
  await confirmed(started);
  const reading = (text: string): string[] => [`read ${text}`, 'session given back', `prepared ${text}`];
  expect(started.events).toEqual([...reading('a'), ...reading('b')]);
  expect(started.topic.isDatabaseAnswering).toBe(true);
});

it('is served since the first time, however often it is read under the same revision', async () => {
  let aheadMs = 0;
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
  const started = start();
  await served(started, 'a');
  const since = started.topic.servedSinceEpochMs;
  started.database.content = 'changed while triggers were off';
  await confirmed(started);
  expect(started.topic.value).toBe('a');
  aheadMs = TEN_MINUTES_MS;
  await pollsPassed(started);
  expect(started.topic.value).toBe('changed while triggers were off');
  expect(started.topic.servedSinceEpochMs).toBe(since);
  started.database.content = BAD;
  aheadMs = 2 * TEN_MINUTES_MS;
  await pollsPassed(started);
  expect(started.topic.refusal).toBe('it is bad');
  expect(started.topic.value).toBe('changed while triggers were off');
});

it('content that cannot be served never replaces what is served, is read once, and grows old', async () => {
  const started = start();
  await served(started, 'a');
  started.change('B', BAD);
  await pollsPassed(started);
  expect(started.topic).toMatchObject({ value: 'a', refusal: 'it is bad' });
  expect(started.lines).toMatchObject([
    { message: 'snapshot: refused, the former one is served', reason: 'it is bad' },
  ]);
  await until(async () => started.topic.ageSeconds > 1);
  expect(started.events.filter((event) => event === `read ${BAD}`)).toHaveLength(1);
  started.change('A', 'a'); // a restore
  await confirmed(started);
  expect(started.topic.refusal).toBeUndefined();
});

it('content that cannot be served at the start: there is no value until it can', async () => {
  const started = start({ content: BAD });
  await pollsPassed(started);
  expect(started.topic.refusal).toBe('it is bad');
  expect(started.topic.value).toBeUndefined();
  expect(started.topic.ageSeconds).toBe(Infinity);
  expect(started.lines).toMatchObject([
    { message: 'snapshot: refused, callers get 503', remedy: expect.stringContaining('by a migration') },
  ]);
  started.change('B', 'b');
  await served(started, 'b');
  expect(started.topic.refusal).toBeUndefined();
});

it('a failure leaves the value, is logged once, and ends with the return of the database', async () => {
  const started = start();
  await served(started, 'a');
  started.database.isAway = true;
  await until(async () => started.topic.ageSeconds > 2.5);
  expect(started.topic.value).toBe('a');
  expect(started.topic.isDatabaseAnswering).toBe(false);
  expect(started.lines).toMatchObject([{ message: 'database (codes): failed, retrying', reason: 'ECONNREFUSED' }]);
  started.database.isAway = false;
  started.change('B', 'b');
  await served(started, 'b');
  expect(started.topic.isDatabaseAnswering).toBe(true);
});

it('a reading that fails is an answer of the database all the same', async () => {
  const started = start();
  await served(started, 'a');
  started.database.isLocked = true;
  started.change('B', 'b');
  await until(async () => started.lines.length > 0);
  expect(started.lines).toMatchObject([{ reason: 'canceling statement due to lock timeout' }]);
  expect(started.topic.isDatabaseAnswering).toBe(true);
  expect(started.topic.value).toBe('a');
});

it('callers are refused where nothing was read, and the log says so', async () => {
  const started = start({ isAway: true });
  await until(async () => started.lines.length > 0);
  expect(started.lines).toMatchObject([{ message: 'database (codes): failed, callers are refused' }]);
  expect(started.topic.value).toBeUndefined();
});

it('an end while the database is asked says nothing', async () => {
  const started = start();
  await served(started, 'a');
  started.database.isAway = true;
  started.stopping.abort();
  await started.ended;
  expect(started.lines).toEqual([]);
});
