import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { RepeatedFailure } from './repeated-failure.js';

const MINUTE_MS = 60_000;
const SUBJECT = 'the database';
const TRYING_ON = `${SUBJECT}: failed, trying on`;

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
  failure.failed(error);
  failure.failed(error);
  jest.advanceTimersByTime(MINUTE_MS);
  failure.failed(error);
  failure.succeeded();
  failure.succeeded();
  failure.failed(error);
  expect(lines).toEqual([
    { level: 'warn', message: TRYING_ON, reason: 'refused', failures: 1 },
    { level: 'warn', message: TRYING_ON, reason: 'refused', failures: 3 },
    { level: 'info', message: `${SUBJECT}: works again`, failures: 3 },
    { level: 'warn', message: TRYING_ON, reason: 'refused', failures: 1 },
  ]);
});

it('is logged at once when its reason changes, and when callers begin to be refused', () => {
  const callersRefusedAt = new Date(Date.now() + 1_000);
  failure.failed(new Error('refused'), callersRefusedAt);
  failure.failed(new Error('timed out'), callersRefusedAt);
  jest.advanceTimersByTime(1_000);
  failure.failed(new Error('timed out'), callersRefusedAt);
  const message = `${SUBJECT}: failed, callers are refused`;
  expect(lines).toEqual([
    { level: 'warn', message: TRYING_ON, reason: 'refused', failures: 1, callersRefusedAt },
    { level: 'warn', message: TRYING_ON, reason: 'timed out', failures: 2, callersRefusedAt },
    { level: 'error', message, reason: 'timed out', failures: 3, callersRefusedAt },
  ]);
});
