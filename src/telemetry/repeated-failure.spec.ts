import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { type CallerImpact, RepeatedFailure, refusedIn } from './repeated-failure.js';

const MINUTE_MS = 60_000;
const SUBJECT = 'the database';
const RETRYING = `${SUBJECT}: failed, retrying`;
const REFUSING = `${SUBJECT}: failed, callers are refused`;
const NONE: CallerImpact = { name: 'none' };

let lines: object[];
let failure: RepeatedFailure;
beforeEach(() => {
  jest.useFakeTimers();
  lines = [];
  const logger = {
    log: (entry: object) => lines.push({ level: 'info', ...entry }),
    warn: (entry: object) => lines.push({ level: 'warn', ...entry }),
    error: (entry: object) => lines.push({ level: 'error', ...entry }),
  };
  failure = new RepeatedFailure(logger, SUBJECT);
});
afterEach(() => {
  jest.useRealTimers();
});

it('is logged when it begins, once a minute, and when it has ended', () => {
  const error = new Error('refused');
  failure.failed(error, NONE);
  failure.failed(error, NONE);
  jest.advanceTimersByTime(MINUTE_MS);
  failure.failed(error, NONE);
  expect(failure.failuresInARow).toBe(3);
  failure.succeeded();
  failure.succeeded();
  expect(failure.failuresInARow).toBe(0);
  failure.failed(error, NONE);
  expect(lines).toEqual([
    { level: 'warn', message: RETRYING, reason: 'refused', failures: 1 },
    { level: 'warn', message: RETRYING, reason: 'refused', failures: 3 },
    { level: 'info', message: `${SUBJECT}: works again`, failures: 3 },
    { level: 'warn', message: RETRYING, reason: 'refused', failures: 1 },
  ]);
});

it('is logged at once when its reason changes, and when callers begin to be refused', () => {
  const callersRefusedAt = new Date(Date.now() + 1_000);
  failure.failed(new Error('refused'), refusedIn(1));
  failure.failed(new Error('timed out'), refusedIn(1));
  jest.advanceTimersByTime(1_000);
  failure.failed(new Error('timed out'), refusedIn(0));
  expect(lines).toEqual([
    { level: 'warn', message: RETRYING, reason: 'refused', failures: 1, callersRefusedAt },
    { level: 'warn', message: RETRYING, reason: 'timed out', failures: 2, callersRefusedAt },
    { level: 'error', message: REFUSING, reason: 'timed out', failures: 3, callersRefusedAt },
  ]);
});

it('is an error from the first one on where callers are refused already', () => {
  failure.failed(new Error('refused'), { name: 'refused' });
  expect(lines).toEqual([{ level: 'error', message: REFUSING, reason: 'refused', failures: 1 }]);
});

it.each([Infinity, -Infinity, -1e300])('has no date where callers are refused in %d s', (seconds) => {
  failure.failed(new Error('refused'), refusedIn(seconds));
  expect(lines).toEqual([expect.objectContaining({ callersRefusedAt: undefined })]);
});

it('is logged once a minute also where the clock of the machine is set back', () => {
  failure.failed(new Error('refused'), NONE);
  jest.setSystemTime(Date.now() - 60 * MINUTE_MS);
  jest.advanceTimersByTime(MINUTE_MS);
  failure.failed(new Error('refused'), NONE);
  expect(lines).toHaveLength(2);
});
