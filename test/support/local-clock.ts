// The clocks and limits of services in the process of the test, which are those of the test as well.
import { afterAll, jest } from '@jest/globals';

const monotonicNow = performance.now.bind(performance);
const startTimer = globalThis.setTimeout;
/** No timer of Node.js is longer. */
const ENDLESS_MS = 2 ** 31 - 1;
let passedMs = 0;

afterAll(() => void jest.restoreAllMocks()); // the clock is one for all files that a worker runs

/** Lets time pass: from now on the monotonic clock is later by so much. Timers that run are not touched. */
export function letPass(milliseconds: number): void {
  passedMs += milliseconds;
  jest.spyOn(performance, 'now').mockImplementation(() => monotonicNow() + passedMs);
}

/** From now on what may happen once in so many seconds happens once, however long a test takes. */
export function slowMonotonicClock(): void {
  jest.spyOn(performance, 'now').mockImplementation(() => monotonicNow() / 1_000);
}

/** The machine's clock is ahead by so much, or behind. */
export function setClockAhead(milliseconds: number): void {
  const { now } = Date;
  jest.spyOn(Date, 'now').mockImplementation(() => now() + milliseconds);
}

/** Timers of these lengths last so long instead, those that begin from now on. */
export function changeTimers(lengthsMs: readonly number[], insteadMs: number): void {
  const start = (work: () => void, ms = 0, ...rest: []) =>
    startTimer(work, lengthsMs.includes(ms) ? insteadMs : ms, ...rest);
  jest.spyOn(globalThis, 'setTimeout').mockImplementation(start);
}

/** Limits of so many milliseconds are never reached: a slow machine would. */
export function liftLimits(...lengthsMs: readonly number[]): void {
  changeTimers(lengthsMs, ENDLESS_MS);
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  const longer = (ms: number): AbortSignal => timeout(lengthsMs.includes(ms) ? ENDLESS_MS : ms);
  jest.spyOn(AbortSignal, 'timeout').mockImplementation(longer);
}

/** From now on a request waits for the keys of an issuer, and a fetch for its answer, as long as it takes. */
export function liftLimitsOfIssuers(): void {
  liftLimits(800, 2_000);
}
