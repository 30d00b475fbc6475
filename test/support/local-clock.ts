// Changes the clocks and time limits of the services that run in the process of the test. They are also those of the
// test. A change lasts until the end of the file, or until `useMachineClock`, because services go on running between
// tests. So no spies are used: Jest removes spies before each test.
import { afterAll } from '@jest/globals';
import { TIMEOUT_MS } from '../../src/auth/issuers/fetch-json.js';
import { replaceProperties } from './replace-properties.js';

const monotonicNow = performance.now.bind(performance);
const abortAfter = AbortSignal.timeout.bind(AbortSignal);
const startTimer = globalThis.setTimeout;
/** The longest time of a timer in Node.js. */
const ENDLESS_MS = 2 ** 31 - 1;
const restores: (() => void)[] = [];
let passedMs = 0;

afterAll(useMachineClock); // a worker runs several files, which share some of these objects

/** Gives the process the machine's clocks and the real limits again. */
export function useMachineClock(): void {
  passedMs = 0;
  for (const restore of restores.splice(0).toReversed()) restore();
}

/** Moves the monotonic clock forward by this time. Running timers are not changed. */
export function letPass(milliseconds: number): void {
  passedMs += milliseconds;
  replace(performance, { now: () => monotonicNow() + passedMs });
}

/** Slows the monotonic clock down. An action that may happen once in some seconds then happens once in a slow test. */
export function slowMonotonicClock(): void {
  replace(performance, { now: () => monotonicNow() / 1_000 });
}

/** Gives new timers of these lengths another length. Such timers keep no worker of Jest alive. */
function changeTimers(lengthsMs: readonly number[], insteadMs: number): void {
  const start = (work: () => void, ms = 0, ...rest: []): NodeJS.Timeout => {
    if (!lengthsMs.includes(ms)) return startTimer(work, ms, ...rest);
    return startTimer(work, insteadMs, ...rest).unref();
  };
  replace(globalThis, { setTimeout: Object.assign(start, startTimer) });
}

/** Removes limits of these lengths, because a slow machine would reach them. */
export function liftLimits(...lengthsMs: readonly number[]): void {
  changeTimers(lengthsMs, ENDLESS_MS);
  const timeout = (ms: number): AbortSignal => abortAfter(lengthsMs.includes(ms) ? ENDLESS_MS : ms);
  replace(AbortSignal, { timeout });
}

/** Removes the time limit of all further fetches from issuers. */
export function liftLimitsOfIssuers(): void {
  liftLimits(TIMEOUT_MS);
}

function replace(target: object, values: Record<string, unknown>): void {
  restores.push(replaceProperties(target, values));
}
