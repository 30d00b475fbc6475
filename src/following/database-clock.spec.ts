import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { DatabaseClock } from './database-clock.js';

const DAY_MS = 86_400_000;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

it('the estimate is never ahead of a database clock of the same speed, and is better after a faster answer', () => {
  const clock = new DatabaseClock();
  const startMs = performance.now();
  const behindMs = (): number => DAY_MS + performance.now() - startMs - clock.now();
  // The database read its clock 30 ms before its answer arrived
  clock.correct({
    databaseEpochMs: DAY_MS - 30,
    askedAtMonotonicMs: startMs - 100,
    answeredAtMonotonicMs: startMs,
  });
  expect(behindMs()).toBeCloseTo(30);
  jest.advanceTimersByTime(DAY_MS);
  const laterMs = performance.now();
  clock.correct({
    databaseEpochMs: 2 * DAY_MS - 4,
    askedAtMonotonicMs: laterMs - 5,
    answeredAtMonotonicMs: laterMs,
  });
  expect(behindMs()).toBeCloseTo(4);
  // The estimate is between the bounds of this slower answer, so it stays
  clock.correct({
    databaseEpochMs: 2 * DAY_MS - 400,
    askedAtMonotonicMs: laterMs - 500,
    answeredAtMonotonicMs: laterMs,
  });
  expect(behindMs()).toBeCloseTo(4);
});

it('right after a poll, the estimate is ahead of a slower database clock by at most the duration of the poll', () => {
  const clock = new DatabaseClock();
  let databaseEpochMs = DAY_MS;
  const aheadMs: number[] = [];
  for (let poll = 0; poll < 100; poll++) {
    jest.advanceTimersByTime(250);
    databaseEpochMs += 249; // the database's clock is slower by 1 ms in 250 ms
    const nowMs = performance.now();
    clock.correct({ databaseEpochMs, askedAtMonotonicMs: nowMs - 5, answeredAtMonotonicMs: nowMs });
    aheadMs.push(clock.now() - databaseEpochMs);
  }
  expect(Math.max(...aheadMs)).toBeCloseTo(5);
});

it.each([-DAY_MS, -500, 500, DAY_MS])('the estimate follows a database clock that jumps by %i ms', (byMs) => {
  const clock = new DatabaseClock();
  const nowMs = performance.now();
  clock.correct({
    databaseEpochMs: DAY_MS,
    askedAtMonotonicMs: nowMs - 0.1,
    answeredAtMonotonicMs: nowMs,
  });
  clock.correct({
    databaseEpochMs: DAY_MS + byMs,
    askedAtMonotonicMs: nowMs - 50,
    answeredAtMonotonicMs: nowMs,
  });
  expect(clock.now()).toBeCloseTo(DAY_MS + byMs);
});
