import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { ProcessEnd } from './process-end.js';

const SECOND_MS = 1_000;

let exit: jest.SpiedFunction<typeof process.exit>;
beforeEach(() => {
  jest.useFakeTimers();
  exit = jest.spyOn(process, 'exit').mockReturnValue(undefined as never);
});
afterEach(() => {
  for (const event of ['SIGTERM', 'SIGINT', 'SIGHUP', 'uncaughtException', 'unhandledRejection'])
    process.removeAllListeners(event);
  jest.useRealTimers();
});

it('ignores a second signal for a second, and then ends the process immediately with 130', () => {
  const logger = { log: () => undefined } as never;
  const end = new ProcessEnd();
  end.listen();
  end.watch({ logger, stop: () => new Promise(() => undefined) }); // never stops
  process.emit('SIGINT');
  jest.advanceTimersByTime(SECOND_MS);
  process.emit('SIGTERM'); // from npm, after the terminal's SIGINT
  expect(exit).not.toHaveBeenCalled();
  jest.advanceTimersByTime(1);
  process.emit('SIGINT');
  expect(exit.mock.calls).toEqual([[130]]);
});
