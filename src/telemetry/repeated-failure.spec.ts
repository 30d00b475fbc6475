import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { type CallerImpact, RepeatedFailure, toCallerImpact } from './repeated-failure.js';

const MINUTE_MS = 60_000;
const SUBJECT = 'the database';
const RETRYING = `${SUBJECT}: failed, retrying`;
const REFUSING = `${SUBJECT}: failed, callers are refused`;
const UNAFFECTED: CallerImpact = { callers: 'unaffected' };

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

it('a failure is logged when it begins, once a minute, and when it has ended', () => {
  const error = new Error('refused');
  failure.noteFailure(error, UNAFFECTED);
  jest.advanceTimersByTime(MINUTE_MS - 1);
  failure.noteFailure(error, UNAFFECTED);
  jest.advanceTimersByTime(1);
  failure.noteFailure(error, UNAFFECTED);
  expect(failure.failuresInARow).toBe(3);
  failure.noteSuccess();
  failure.noteSuccess();
  expect(failure.failuresInARow).toBe(0);
  failure.noteFailure(error, UNAFFECTED);
  expect(lines).toEqual([
    { level: 'warn', message: RETRYING, reason: 'refused', failures: 1 },
    { level: 'warn', message: RETRYING, reason: 'refused', failures: 3 },
    { level: 'info', message: `${SUBJECT}: works again`, failures: 3 },
    { level: 'warn', message: RETRYING, reason: 'refused', failures: 1 },
  ]);
});

it('a failure is logged immediately when its reason changes, and when callers begin to be refused', () => {
  const callersRefusedAt = new Date(Date.now() + 1_000);
  failure.noteFailure(new Error('refused'), toCallerImpact(1));
  failure.noteFailure(new Error('timed out'), toCallerImpact(1));
  jest.advanceTimersByTime(1_000);
  failure.noteFailure(new Error('timed out'), toCallerImpact(0));
  expect(lines).toEqual([
    { level: 'warn', message: RETRYING, reason: 'refused', failures: 1, callersRefusedAt },
    { level: 'warn', message: RETRYING, reason: 'timed out', failures: 2, callersRefusedAt },
    { level: 'error', message: REFUSING, reason: 'timed out', failures: 3, callersRefusedAt },
  ]);
});

it('the first failure is an error if callers are refused already', () => {
  failure.noteFailure(new Error('refused'), { callers: 'refused' });
  expect(lines).toEqual([{ level: 'error', message: REFUSING, reason: 'refused', failures: 1 }]);
});

it.each([Infinity, -Infinity, -1e300])(
  'a refusal of callers in %d s has no date in the log, because no Date can express it',
  (seconds) => {
    failure.noteFailure(new Error('refused'), toCallerImpact(seconds));
    expect(lines).toEqual([expect.objectContaining({ callersRefusedAt: undefined })]);
  },
);

it('a failure is logged once a minute even if the clock of the machine is set back', () => {
  failure.noteFailure(new Error('refused'), UNAFFECTED);
  jest.setSystemTime(Date.now() - 60 * MINUTE_MS);
  jest.advanceTimersByTime(MINUTE_MS);
  failure.noteFailure(new Error('refused'), UNAFFECTED);
  expect(lines).toHaveLength(2);
});
