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

/** A database whose content is a text, and the topic that follows it. */
function start({ content = 'a', isAway = false } = {}) {
  const database = { revision: 'A', content, isAway, isLocked: false };
  /** What happened, in order, except polls that found nothing new. */
  const events: string[] = [];
  const lines: { message: string }[] = [];
  /** When the database was asked, in milliseconds after the start. */
  const asked: number[] = [];
  const startedAtMs = performance.now();
  const session = {
    query: async (text: string) =>
      /^select stamp/.test(text) ? { rows: [{ stamp: database.revision, time: '1' }] } : { rows: [] },
  } as unknown as Session;
  const within = async <R>(_kind: Kind, work: Work<R>): Promise<R> => {
    asked.push(performance.now() - startedAtMs);
    if (database.isAway) throw new Error('ECONNREFUSED');
    const result = await work(session, {} as EntityManager);
    if (typeof result !== 'string') events.push('transaction ended');
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

/** Lets the topic poll once more: the content of now has been read and prepared then. */
const polled = (): Promise<void> => jest.advanceTimersByTimeAsync(POLL_MS);

it('asks for the revision four times a second, and after a failure once in a second', async () => {
  const { database, asked } = start();
  await jest.advanceTimersByTimeAsync(SECOND_MS);
  expect(asked).toEqual([0, 0, 250, 500, 750, 1_000]); // at the start it also reads
  asked.length = 0;
  database.isAway = true;
  await jest.advanceTimersByTimeAsync(3 * SECOND_MS);
  expect(asked).toEqual([1_250, 2_250, 3_250]);
});

it('reads a revision once, and prepares its value after the transaction, so that no lock is held', async () => {
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

describe('everything is read each ten minutes, also under the same revision', () => {
  it('so a change made while triggers were off is served, and is served since the first reading', async () => {
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

  it('and up to a quarter earlier by chance, so that replicas do not all read at the same time', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(1);
    const { events } = start();
    await jest.advanceTimersByTimeAsync(TEN_MINUTES_MS * 0.75 - POLL_MS);
    expect(events.filter((event) => event === 'read a')).toHaveLength(1);
    await polled();
    expect(events.filter((event) => event === 'read a')).toHaveLength(2);
  });

  it('and content that cannot be prepared leaves the value, which is no longer confirmed', async () => {
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
  it('never replaces the value, is read once in five seconds, and is one line in the log', async () => {
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
    change('A', 'a'); // such as by a restore
    await jest.advanceTimersByTimeAsync(SECOND_MS);
    expect(topic).toMatchObject({ value: 'a', failureReason: undefined });
  });

  it('leaves no value at the start, and the next revision is served', async () => {
    const { topic, change, lines } = start({ content: BAD });
    await polled();
    expect(topic).toMatchObject({ value: undefined, failureReason: 'it is bad', ageSeconds: Infinity });
    expect(lines).toMatchObject([{ message: 'database (codes): failed, callers are refused' }]);
    change('B', 'b');
    await jest.advanceTimersByTimeAsync(SECOND_MS);
    expect(topic).toMatchObject({ value: 'b', failureReason: undefined });
  });

  it('is read again under the same revision, because its fault may have been outside of it', async () => {
    const { topic, database } = start({ content: BAD });
    await polled();
    database.content = 'a';
    await jest.advanceTimersByTimeAsync(5 * SECOND_MS);
    expect(topic.value).toBe('a');
  });
});

it('a failure leaves the value, is logged once, and ends with the return of the database', async () => {
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

it('a reading that fails is an answer of the database all the same', async () => {
  const { topic, database, change, lines } = start();
  await polled();
  database.isLocked = true;
  change('B', 'b');
  await polled();
  expect(lines).toMatchObject([{ reason: 'canceling statement due to lock timeout' }]);
  expect(topic).toMatchObject({ value: 'a', isDatabaseAnswering: true });
});

it('callers are refused if nothing was read, and the log says so', async () => {
  const { topic, lines } = start({ isAway: true });
  await polled();
  expect(lines).toMatchObject([{ message: 'database (codes): failed, callers are refused' }]);
  expect(topic.value).toBeUndefined();
});

it('an end while the database is asked writes nothing to the log, and no timer stays', async () => {
  const { database, stopping, ended, lines } = start();
  await polled();
  database.isAway = true;
  stopping.abort();
  await ended;
  expect(lines).toEqual([]);
  expect(jest.getTimerCount()).toBe(0);
});
