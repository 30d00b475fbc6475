import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { DatabaseClock } from './database-clock.js';

const DAY_MS = 86_400_000;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

it('is never ahead of the database, and comes nearer to it with each answer that took less time', () => {
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
  clock.correct({
    databaseEpochMs: 2 * DAY_MS - 400,
    askedAtMonotonicMs: laterMs - 500,
    answeredAtMonotonicMs: laterMs,
  });
  expect(behindMs()).toBeCloseTo(4);
});

it.each([-DAY_MS, -500, 500, DAY_MS])('follows the database if somebody changes its clock by %i ms', (byMs) => {
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
