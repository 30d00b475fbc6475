// Replaces `performance.now()`, by which the services in this process measure ages and pauses, with Jest's fake clock.
// Call these functions before the first service starts, because the fake clock begins at zero.
import { jest } from '@jest/globals';

/** Everything that Jest can fake, except `performance`. */
const NOT_FAKED = [
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

/** Stops the clock. So what a service repeats once a minute, such as logging a lasting failure, happens only once. */
export function stopMonotonicClock(): void {
  jest.useFakeTimers({ doNotFake: [...NOT_FAKED] });
}

/** Lets the fake clock run at normal speed. A test can move it forward with `jest.advanceTimersByTime`. */
export function useMovableClock(): void {
  jest.useFakeTimers({ doNotFake: [...NOT_FAKED], advanceTimers: true });
}
