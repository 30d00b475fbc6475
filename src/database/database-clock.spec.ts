import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { DatabaseClock } from './database-clock.js';

const DAY = 86_400_000;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

it('the clock of the database is never ahead of it, and comes nearer with each measurement that took less time', () => {
  const clock = new DatabaseClock();
  const start = performance.now();
  const behind = (): number => DAY + performance.now() - start - clock.now();
  clock.measured(DAY - 30, start - 100, start); // it was read 30 ms ago
  expect(behind()).toBeCloseTo(30);
  jest.advanceTimersByTime(DAY);
  clock.measured(2 * DAY - 4, start + DAY - 5);
  expect(behind()).toBeCloseTo(4);
  clock.measured(2 * DAY - 400, start + DAY - 500);
  expect(behind()).toBeCloseTo(4);
});

it.each([-DAY, -500, 500, DAY])(
  'the clock of the database follows it at once when it is set by %i ms',
  (by) => {
    const clock = new DatabaseClock();
    const start = performance.now();
    clock.measured(DAY, start - 0.1, start);
    clock.measured(DAY + by, start - 50, start);
    expect(clock.now()).toBeCloseTo(DAY + by);
  },
);
