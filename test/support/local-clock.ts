// The clocks and limits of services in the process of the test, which are those of the test as well. What is changed
// stays so until the end of the file, or until `useMachineClock`: services run on between tests. So these are no spies,
// which Jest takes away before each test.
import { afterAll } from '@jest/globals';
import { TIMEOUT_MS } from '../../src/auth/issuers/fetch-json.js';
import { replaceProperties } from './replace-properties.js';

const monotonicNow = performance.now.bind(performance);
const abortAfter = AbortSignal.timeout.bind(AbortSignal);
const startTimer = globalThis.setTimeout;
/** No timer of Node.js is longer. */
const ENDLESS_MS = 2 ** 31 - 1;
const restores: (() => void)[] = [];
let passedMs = 0;

afterAll(useMachineClock); // some of these objects are the same for all files that a worker runs

/** From now on clocks and limits are those of the machine. */
export function useMachineClock(): void {
  passedMs = 0;
  for (const restore of restores.splice(0).toReversed()) restore();
}

/** Lets time pass: from now on the monotonic clock is later by so much. Timers that run are not touched. */
export function letPass(milliseconds: number): void {
  passedMs += milliseconds;
  replace(performance, { now: () => monotonicNow() + passedMs });
}

/** From now on what may happen once in so many seconds happens once, however long a test takes. */
export function slowMonotonicClock(): void {
  replace(performance, { now: () => monotonicNow() / 1_000 });
}

/** Timers of these lengths last so long instead, those that begin from now on. They keep no worker of Jest alive. */
function changeTimers(lengthsMs: readonly number[], insteadMs: number): void {
  const start = (work: () => void, ms = 0, ...rest: []): NodeJS.Timeout => {
    if (!lengthsMs.includes(ms)) return startTimer(work, ms, ...rest);
    return startTimer(work, insteadMs, ...rest).unref();
  };
  replace(globalThis, { setTimeout: Object.assign(start, startTimer) });
}

/** Limits of so many milliseconds are never reached: a slow machine would. */
export function liftLimits(...lengthsMs: readonly number[]): void {
  changeTimers(lengthsMs, ENDLESS_MS);
  const timeout = (ms: number): AbortSignal => abortAfter(lengthsMs.includes(ms) ? ENDLESS_MS : ms);
  replace(AbortSignal, { timeout });
}

/** From now on a fetch from an issuer waits for its answer as long as it takes. */
export function liftLimitsOfIssuers(): void {
  liftLimits(TIMEOUT_MS);
}

function replace(target: object, values: Record<string, unknown>): void {
  restores.push(replaceProperties(target, values));
}
