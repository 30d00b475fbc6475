import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { until } from '../../test/support/until.js';
import type { Work } from '../database/database.js';
import type { Session } from '../database/session.js';
import type { Kind } from '../database/transactions.js';
import { Metrics } from '../telemetry/metrics.js';
import type { ServiceLogger } from '../telemetry/service-logger.js';
import { DatabaseClock } from './database-clock.js';
import { FollowedTopic } from './followed-topic.js';

const TEN_MINUTES_MS = 10 * 60_000;
const BAD = 'bad';

const running: AbortController[] = [];
afterEach(() => {
  for (const stopping of running.splice(0)) stopping.abort();
  jest.restoreAllMocks();
});

/** A database whose content is a text, and the topic that follows it. */
function start({ content = 'a', isAway = false } = {}) {
  const database = { revision: 'A', content, isAway, isLocked: false };
  /** What happened, in order, except polls that found nothing new. */
  const events: string[] = [];
  const lines: { message: string }[] = [];
  const polls = { count: 0 };
  const session = {
    query: async (text: string) =>
      /^select stamp/.test(text) ? { rows: [{ stamp: database.revision, time: '1' }] } : { rows: [] },
  } as unknown as Session;
  const within = async <R>(_kind: Kind, work: Work<R>): Promise<R> => {
    if (database.isAway) throw new Error('ECONNREFUSED');
    const result = await work(session, {} as EntityManager);
    if (typeof result === 'string') polls.count += 1;
    else events.push('transaction ended');
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
  return { topic, database, change, events, lines, polls, stopping, ended: topic.run(stopping.signal) };
}

const served = async ({ topic }: ReturnType<typeof start>, value: string): Promise<void> =>
  until(async () => topic.value === value);
/** Waits until the database has answered three further polls. A reading that was due at the first one has ended. */
const polled = async ({ polls }: ReturnType<typeof start>): Promise<void> => {
  const { count } = polls;
  await until(async () => polls.count >= count + 3);
};

it('reads a revision once, and prepares its value after the transaction, so that no lock is held', async () => {
  const started = start();
  await served(started, 'a');
  await polled(started);
  started.change('B', 'b');
  await served(started, 'b');
  await polled(started);
  const reading = (text: string): string[] => [`read ${text}`, 'transaction ended', `prepared ${text}`];
  expect(started.events).toEqual([...reading('a'), ...reading('b')]);
  expect(started.topic.isDatabaseAnswering).toBe(true);
});

describe('everything is read each ten minutes, also under the same revision', () => {
  /** Lets time pass for the process, without waiting. */
  function skipTime() {
    let aheadMs = 0;
    const now = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
    return (byMs: number): void => {
      aheadMs += byMs;
    };
  }

  it('so a change made while triggers were off is served, and counts as served since the first reading', async () => {
    const skip = skipTime();
    const started = start();
    await served(started, 'a');
    const since = started.topic.servedSinceEpochMs;
    started.database.content = 'changed while triggers were off';
    await polled(started);
    expect(started.topic.value).toBe('a');
    skip(TEN_MINUTES_MS);
    await served(started, 'changed while triggers were off');
    expect(started.topic.servedSinceEpochMs).toBe(since);
  });

  it('and content that cannot be prepared leaves the value, which is no longer confirmed', async () => {
    const skip = skipTime();
    const started = start();
    await served(started, 'a');
    started.database.content = BAD;
    skip(TEN_MINUTES_MS);
    await until(async () => started.lines.length > 0);
    const { ageSeconds } = started.topic;
    await polled(started);
    expect(started.topic.value).toBe('a');
    expect(started.topic.ageSeconds).toBeGreaterThan(ageSeconds);
  });
});

describe('content that cannot be prepared', () => {
  it('never replaces the value, is read once in five seconds, and is one line in the log', async () => {
    const started = start();
    await served(started, 'a');
    started.change('B', BAD);
    await until(async () => started.lines.length > 0);
    await polled(started);
    await polled(started);
    expect(started.topic).toMatchObject({ value: 'a', failureReason: 'it is bad', isDatabaseAnswering: true });
    expect(started.lines).toMatchObject([{ message: 'database (codes): failed, retrying', reason: 'it is bad' }]);
    expect(started.events.filter((event) => event === `read ${BAD}`)).toHaveLength(1);
    started.change('A', 'a'); // such as by a restore
    await until(async () => started.topic.failureReason === undefined);
    expect(started.topic.value).toBe('a');
  });

  it('leaves no value at the start, and the next revision is served', async () => {
    const started = start({ content: BAD });
    await until(async () => started.lines.length > 0);
    expect(started.topic).toMatchObject({ value: undefined, failureReason: 'it is bad', ageSeconds: Infinity });
    expect(started.lines).toMatchObject([{ message: 'database (codes): failed, callers are refused' }]);
    started.change('B', 'b');
    await served(started, 'b');
    expect(started.topic.failureReason).toBeUndefined();
  });

  it('is read again under the same revision, because its fault may have been outside of it', async () => {
    const skipped = start({ content: BAD });
    await until(async () => skipped.lines.length > 0);
    skipped.database.content = 'a';
    await served(skipped, 'a');
  });
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
