// The services in this process measure ages and pauses by `performance.now()`. These functions replace it by Jest's
// fake clock, which begins at zero. So call them before the first service starts, or earlier times lie in the future.
import { jest } from '@jest/globals';

/** Everything that Jest can fake in Node.js, except `performance`. */
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

/** Stops the clock. So a service logs a lasting failure only once, although it would repeat the message each minute. */
export function stopMonotonicClock(): void {
  jest.useFakeTimers({ doNotFake: [...NOT_FAKED] });
}

/** Lets the fake clock run at normal speed. A test can move it forward with `jest.advanceTimersByTime`. */
export function useMovableClock(): void {
  jest.useFakeTimers({ doNotFake: [...NOT_FAKED], advanceTimers: true });
}
