import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import type { Work } from '../database/database.js';
import type { Session } from '../database/session.js';
import type { Kind } from '../database/transactions.js';
import { Metrics } from '../telemetry/metrics.js';
import type { ServiceLogger } from '../telemetry/service-logger.js';
import { DatabaseClock } from './database-clock.js';
import { FollowedTopic } from './followed-topic.js';

const POLL_MS = 250;
const SECOND_MS = 1_000;
const TEN_MINUTES_MS = 10 * 60_000;
const BAD = 'bad';

const running: AbortController[] = [];
beforeEach(() => {
  jest.useFakeTimers();
  jest.spyOn(Math, 'random').mockReturnValue(0); // without jitter
});
afterEach(() => {
  for (const stopping of running.splice(0)) stopping.abort();
  jest.useRealTimers();
});

/** Starts a topic that follows a simulated database. The content of this database is one text. */
function start({ content = 'a', isAway = false } = {}) {
  const database = { revision: 'A', content, isAway, isLocked: false, duringQuestion: (): void => undefined };
  /** The events in their order, except polls. */
  const events: string[] = [];
  const lines: { message: string }[] = [];
  /** The times of the questions to the database, in milliseconds after the start. */
  const asked: number[] = [];
  const startedAtMs = performance.now();
  const session = {
    query: async (text: string) =>
      /^select stamp/.test(text) ? { rows: [{ stamp: database.revision, time: '1' }] } : { rows: [] },
  } as unknown as Session;
  const within = async <R>(_kind: Kind, work: Work<R>): Promise<R> => {
    asked.push(performance.now() - startedAtMs);
    database.duringQuestion();
    if (database.isAway) throw new Error('ECONNREFUSED');
    const result = await work(session, {} as EntityManager);
    const isReading = 'rows' in (result as object); // a poll has no rows
    if (isReading) events.push('transaction ended');
    return result;
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
        if (rows === BAD) throw new Error('it is bad');
        events.push(`prepared ${rows}`);
        return rows;
      },
      maxAgeSeconds: 900,
    },
    database: { within },
    clock: new DatabaseClock(),
    metrics: new Metrics(),
    logger,
  });
  const change = (revision: string, text: string): void => void Object.assign(database, { revision, content: text });
  const stopping = new AbortController();
  running.push(stopping);
  return { topic, database, change, events, lines, asked, stopping, ended: topic.run(stopping.signal) };
}

/** Lets the topic poll once more. Afterwards the present content is read and prepared. */
const polled = (): Promise<void> => jest.advanceTimersByTimeAsync(POLL_MS);

it('asks for the revision four times a second, and once a second while the database is away', async () => {
  const { database, asked } = start();
  await jest.advanceTimersByTimeAsync(SECOND_MS);
  expect(asked).toEqual([0, 0, 250, 500, 750, 1_000]); // the first 0 is a poll, the second 0 is a reading
  asked.length = 0;
  database.isAway = true;
  await jest.advanceTimersByTimeAsync(3 * SECOND_MS);
  expect(asked).toEqual([1_250, 2_250, 3_250]);
});

it('reads each revision once, and prepares the value after the transaction, when no lock is held', async () => {
  const started = start();
  await polled();
  await polled();
  started.change('B', 'b');
  await polled();
  await polled();
  const reading = (text: string): string[] => [`read ${text}`, 'transaction ended', `prepared ${text}`];
  expect(started.events).toEqual([...reading('a'), ...reading('b')]);
  expect(started.topic).toMatchObject({ value: 'b', isDatabaseAnswering: true });
});

describe('the reading after ten minutes, which needs no new revision,', () => {
  it('finds a change that was made without triggers, and servedSinceEpochMs does not change', async () => {
    const { topic, database } = start();
    await polled();
    const since = topic.servedSinceEpochMs;
    database.content = 'changed while triggers were off';
    await jest.advanceTimersByTimeAsync(TEN_MINUTES_MS - 2 * POLL_MS);
    expect(topic.value).toBe('a');
    await polled();
    expect(topic.value).toBe('changed while triggers were off');
    expect(topic.servedSinceEpochMs).toBe(since);
  });

  it('comes up to a quarter of that time earlier by chance, so replicas do not read at the same time', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(1);
    const { events } = start();
    await jest.advanceTimersByTimeAsync(TEN_MINUTES_MS * 0.75 - POLL_MS);
    expect(events.filter((event) => event === 'read a')).toHaveLength(1);
    await polled();
    expect(events.filter((event) => event === 'read a')).toHaveLength(2);
  });

  it('leaves the former value if `prepare` throws, but polls no longer confirm that value', async () => {
    const { topic, database, lines } = start();
    await polled();
    database.content = BAD;
    await jest.advanceTimersByTimeAsync(TEN_MINUTES_MS - POLL_MS);
    expect(lines).toMatchObject([{ reason: 'it is bad' }]);
    await jest.advanceTimersByTimeAsync(4 * SECOND_MS);
    expect(topic.value).toBe('a');
    expect(topic.ageSeconds).toBe(4);
  });
});

describe('content that cannot be prepared', () => {
  it('never replaces the value, is read again after five seconds, and is logged once', async () => {
    const { topic, change, lines, events } = start();
    await polled();
    change('B', BAD);
    await polled();
    const readings = () => events.filter((event) => event === `read ${BAD}`).length;
    await jest.advanceTimersByTimeAsync(5 * SECOND_MS - POLL_MS);
    expect(readings()).toBe(1);
    await jest.advanceTimersByTimeAsync(2 * POLL_MS);
    expect(readings()).toBe(2);
    expect(topic).toMatchObject({ value: 'a', failureReason: 'it is bad', isDatabaseAnswering: true });
    expect(lines).toMatchObject([{ message: 'database (codes): failed, retrying', reason: 'it is bad' }]);
    change('A', 'a'); // a restore brings back the former revision
    await jest.advanceTimersByTimeAsync(SECOND_MS);
    expect(topic).toMatchObject({ value: 'a', failureReason: undefined });
  });

  it('leaves the topic without a value if nothing was served before, and the next revision is served', async () => {
    const { topic, change, lines } = start({ content: BAD });
    await polled();
    expect(topic).toMatchObject({ value: undefined, failureReason: 'it is bad', ageSeconds: Infinity });
    expect(lines).toMatchObject([{ message: 'database (codes): failed, callers are refused' }]);
    change('B', 'b');
    await jest.advanceTimersByTimeAsync(SECOND_MS);
    expect(topic).toMatchObject({ value: 'b', failureReason: undefined });
  });

  it('is read again even if the revision has not changed', async () => {
    const { topic, database } = start({ content: BAD });
    await polled();
    database.content = 'a';
    await jest.advanceTimersByTimeAsync(5 * SECOND_MS);
    expect(topic.value).toBe('a');
  });
});

it('keeps the value during a failure, logs the failure once, and reads changes when the database is back', async () => {
  const { topic, database, change, lines } = start();
  await polled();
  database.isAway = true;
  await jest.advanceTimersByTimeAsync(3 * SECOND_MS);
  expect(topic).toMatchObject({ value: 'a', isDatabaseAnswering: false, ageSeconds: 3 });
  expect(lines).toMatchObject([{ message: 'database (codes): failed, retrying', reason: 'ECONNREFUSED' }]);
  database.isAway = false;
  change('B', 'b');
  await jest.advanceTimersByTimeAsync(SECOND_MS);
  expect(topic).toMatchObject({ value: 'b', isDatabaseAnswering: true });
});

it('says that the database answers if polls succeed and only the reading fails', async () => {
  const { topic, database, change, lines } = start();
  await polled();
  database.isLocked = true;
  change('B', 'b');
  await polled();
  expect(lines).toMatchObject([{ reason: 'canceling statement due to lock timeout' }]);
  expect(topic).toMatchObject({ value: 'a', isDatabaseAnswering: true });
});

it('if nothing was ever read, logs that callers are refused', async () => {
  const { topic, lines } = start({ isAway: true });
  await polled();
  expect(lines).toMatchObject([{ message: 'database (codes): failed, callers are refused' }]);
  expect(topic.value).toBeUndefined();
});

it('logs nothing if a poll fails because the service is stopping, and leaves no timer', async () => {
  const { database, stopping, ended, lines } = start();
  await polled();
  database.isAway = true;
  database.duringQuestion = () => stopping.abort();
  await polled();
  await ended;
  expect(lines).toEqual([]);
  expect(jest.getTimerCount()).toBe(0);
});
