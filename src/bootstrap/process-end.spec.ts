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

/** Listens to signals and errors. Returns the reasons for which the service was stopped. */
function begin(stop: () => Promise<void> = async () => undefined): (string | undefined)[] {
  const reasons: (string | undefined)[] = [];
  const end = new ProcessEnd();
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

let exit: jest.SpiedFunction<typeof process.exit>;
beforeEach(() => {
  lines = [];
  jest.useFakeTimers();
  exit = jest.spyOn(process, 'exit').mockReturnValue(undefined as never);
});
afterEach(() => {
  for (const event of ['SIGTERM', 'SIGINT', 'SIGHUP', 'uncaughtException', 'unhandledRejection'])
    process.removeAllListeners(event);
  jest.useRealTimers();
});

it('ignores further signals for one second, and then ends the process immediately with 130', () => {
  begin(() => new Promise(() => undefined)); // never stops
  process.emit('SIGINT');
  jest.advanceTimersByTime(SECOND_MS);
  process.emit('SIGTERM'); // from npm, after the terminal's SIGINT
  expect(exit).not.toHaveBeenCalled();
  jest.advanceTimersByTime(1);
  process.emit('SIGINT');
  expect(exit.mock.calls).toEqual([[130]]);
});

it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  '%s stops the service, and the process ends with 0',
  async (signal) => {
    const reasons = begin();
    process.emit(signal);
    await jest.advanceTimersByTimeAsync(0);
    expect(reasons).toEqual([signal]);
    expect(lines).toEqual(['info stopping', 'info stopped', 'flushed']);
    expect(exit.mock.calls).toEqual([[0]]);
  },
);

it('logs an error if the service cannot be stopped, and ends with 1', async () => {
  begin(() => Promise.reject(new Error('no')));
  process.emit('SIGTERM');
  await jest.advanceTimersByTimeAsync(0);
  expect(lines).toEqual(['info stopping', 'error stopping failed', 'flushed']);
  expect(exit.mock.calls).toEqual([[1]]);
});

it.each(['uncaughtException', 'unhandledRejection'] as const)(
  'logs %s as fatal, and ends with 1 without stopping the service',
  async (event) => {
    const reasons = begin();
    process.emit(event as 'uncaughtException', new Error('no'));
    await jest.advanceTimersByTimeAsync(0);
    expect(lines).toEqual([`fatal ${event}`, 'flushed']);
    expect(exit.mock.calls).toEqual([[1]]);
    expect(reasons).toEqual([]);
  },
);
