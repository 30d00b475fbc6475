import { expect, it } from '@jest/globals';
import { BackOff } from './back-off.js';

it('doubles the pause with each failure in a row, up to the longest one', () => {
  const backOff = new BackOff({ usualMs: 250, maxMs: 1_000 });
  const pausesMs = [backOff.pauseMs];
  for (let failure = 0; failure < 2_000; failure++) {
    backOff.failed();
    pausesMs.push(backOff.pauseMs);
  }
  expect(pausesMs.slice(0, 4)).toEqual([250, 500, 1_000, 1_000]);
  expect(pausesMs.at(-1)).toBe(1_000);
  backOff.succeeded();
  expect(backOff.pauseMs).toBe(250);
});
