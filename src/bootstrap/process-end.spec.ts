import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { ProcessEnd } from './process-end.js';

const SECOND_MS = 1_000;

let lines: string[];
const writeAt = (level: string) => (entry: { message: string }) => void lines.push(`${level} ${entry.message}`);
const logger = {
  log: writeAt('info'),
  error: writeAt('error'),
  fatal: writeAt('fatal'),
  flush: async () => void lines.push('flushed'),
} as never;

/** The process that ends. The tests send it signals and errors. */
let endingProcess: EventEmitter;
/** The statuses with which the process was ended. A real process would end with the first one. */
let exitStatuses: number[];

/** Listens to signals and errors. Returns the reasons for which the service was stopped. */
function begin(stop: () => Promise<void> = async () => undefined): (string | undefined)[] {
  const reasons: (string | undefined)[] = [];
  const exit = (status: number) => void exitStatuses.push(status);
  const end = new ProcessEnd(Object.assign(endingProcess, { exit }) as never);
  end.listen();
  end.watch({
    logger,
    stop: (reason) => {
      reasons.push(reason);
      return stop();
    },
  });
  return reasons;
}

beforeEach(() => {
  lines = [];
  exitStatuses = [];
  endingProcess = new EventEmitter();
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

it('ignores a further signal within one second, but a later signal ends the process immediately with 130', () => {
  begin(() => new Promise(() => undefined)); // never stops
  endingProcess.emit('SIGINT');
  jest.advanceTimersByTime(SECOND_MS);
  endingProcess.emit('SIGTERM'); // from npm, after the terminal's SIGINT
  expect(exitStatuses).toEqual([]);
  jest.advanceTimersByTime(1);
  endingProcess.emit('SIGINT');
  expect(exitStatuses).toEqual([130]);
});

it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  '%s stops the service, and the process ends with 0',
  async (signal) => {
    const reasons = begin();
    endingProcess.emit(signal);
    await jest.advanceTimersByTimeAsync(0);
    expect(reasons).toEqual([signal]);
    expect(lines).toEqual(['info stopping', 'info stopped', 'flushed']);
    expect(exitStatuses).toEqual([0]);
  },
);

it('logs an error if the service cannot be stopped, and ends with 1', async () => {
  begin(() => Promise.reject(new Error('no')));
  endingProcess.emit('SIGTERM');
  await jest.advanceTimersByTimeAsync(0);
  expect(lines).toEqual(['info stopping', 'error stopping failed', 'flushed']);
  expect(exitStatuses).toEqual([1]);
});

it.each(['uncaughtException', 'unhandledRejection'] as const)(
  'logs %s as fatal, and ends with 1 without stopping the service',
  async (event) => {
    const reasons = begin();
    endingProcess.emit(event, new Error('no'));
    await jest.advanceTimersByTimeAsync(0);
    expect(lines).toEqual([`fatal ${event}`, 'flushed']);
    expect(exitStatuses).toEqual([1]);
    expect(reasons).toEqual([]);
  },
);
