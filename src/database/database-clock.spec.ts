import { describe, expect, it } from '@jest/globals';
import { DatabaseClock } from './database-clock.js';

const DAY = 86_400_000;

describe('the clock of the database', () => {
  it('is never ahead of it, and comes nearer with each measurement that took less time', () => {
    const clock = new DatabaseClock();
    const start = performance.now();
    const behind = (real: number): number => real + performance.now() - start - clock.now();
    clock.measured(DAY - 30, start - 100, start); // it was read 30 ms ago
    expect(behind(DAY)).toBeCloseTo(30, 0);
    clock.measured(DAY - 4, start - 5, start);
    expect(behind(DAY)).toBeCloseTo(4, 0);
    clock.measured(DAY - 400, start - 500, start);
    expect(behind(DAY)).toBeCloseTo(4, 0);
  });

  it.each([-DAY, -500, 500, DAY])('follows it at once when it is set by %i ms', (by) => {
    const clock = new DatabaseClock();
    const start = performance.now();
    clock.measured(DAY, start - 0.1, start);
    clock.measured(DAY + by, start - 50, start);
    const behind = DAY + by + performance.now() - start - clock.now();
    expect(behind).toBeCloseTo(0, 0);
  });
});
