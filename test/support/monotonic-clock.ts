// Jest's fake clock in place of `performance.now()`, by which the services of this process measure ages and pauses.
// Call these functions before the first service starts, because the fake clock begins at zero.
import { jest } from '@jest/globals';

/** All that Jest can fake, except `performance`. */
const OTHERS = [
  'Date',
  'hrtime',
  'nextTick',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
] as const;

/** Stops the clock. An action that may happen once in some seconds then happens only once. */
export function stopMonotonicClock(): void {
  jest.useFakeTimers({ doNotFake: [...OTHERS] });
}

/** Lets the clock run as the machine's, until `jest.advanceTimersByTime` moves it forward. */
export function useMovableClock(): void {
  jest.useFakeTimers({ doNotFake: [...OTHERS], advanceTimers: true });
}
