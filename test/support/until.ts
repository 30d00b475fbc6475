import { inspect, types } from 'node:util';
import { WAIT_LIMIT_MS, limitWait } from './waiting.js';

interface Options {
  /** The fixed pause between two checks, for a test that measures the time itself. */
  readonly everyMs?: number;
  /** Describes the condition. The default is its code. */
  readonly what?: () => string;
  /** The work that makes the condition true. If the work ends first, the wait fails with the work's result. */
  readonly during?: Promise<unknown>;
  /** The time after which the wait fails. */
  readonly limitMs?: number;
}

/** Pauses are short in this time before the limit. Otherwise the last check could come seconds before the limit. */
const LAST_CHECKS_MS = 1_000;

/** A condition for which a test waits. `error` is the reason why the last check failed. */
interface Waiting {
  readonly holds: () => Promise<boolean>;
  readonly what: () => string;
  isOver: boolean;
  isChecking: boolean;
  /** The result or the error of `during`. */
  end?: unknown;
  error?: unknown;
}
const waitings = new Set<Waiting>();

/**
 * Checks a condition again and again until it is true, or until the limit. Use it if there is no event to wait for. The
 * pauses become longer, because the checked program runs on the same cores.
 */
export async function until(
  holds: () => Promise<boolean>,
  { everyMs, what = () => holds.toString(), during, limitMs = WAIT_LIMIT_MS }: Options = {},
): Promise<void> {
  const waiting: Waiting = { holds, what, isOver: false, isChecking: false };
  waitings.add(waiting);
  if (during) void noteEnd(waiting, during);
  try {
    await limitWait(
      () => describe(waiting),
      () => ask(waiting, { everyMs, limitMs }),
      { limitMs },
    );
  } finally {
    waiting.isOver = true;
    waitings.delete(waiting);
  }
}

/** Returns the condition, and what the last check says about it. */
function describe({ what, isChecking, error }: Waiting): string {
  const lines = [what()];
  if (isChecking) lines.push('The last check has not ended.');
  if (error !== undefined) lines.push(`The last check failed: ${describeError(error)}`);
  return lines.join('\n');
}

/** Returns only the stack of an error of `expect`, because `inspect` would repeat the compared values. */
function describeError(error: unknown): string {
  const isOfExpect = types.isNativeError(error) && 'matcherResult' in error;
  return isOfExpect ? String(error.stack) : inspect(error);
}

async function noteEnd(waiting: Waiting, during: Promise<unknown>): Promise<void> {
  try {
    waiting.end = await during;
  } catch (error) {
    waiting.end = error;
  }
}

async function ask(waiting: Waiting, { everyMs, limitMs }: { everyMs: number | undefined; limitMs: number }) {
  const startedAtMs = performance.now();
  while (!waiting.isOver) {
    // If the work ends during the check, one more check sees its last effects
    const hasEnded = 'end' in waiting;
    if (await check(waiting)) return;
    if (hasEnded) {
      throw new Error(`The work has ended, and this never was true: ${describe(waiting)}\n${inspect(waiting.end)}`);
    }
    const passedMs = performance.now() - startedAtMs;
    const pauseMs = everyMs ?? Math.max(20, Math.min(passedMs / 10, limitMs - LAST_CHECKS_MS - passedMs));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  throw new Error(`the test has ended: ${describe(waiting)}`);
}

/** Returns whether the condition is true. Keeps the error of a check that fails. */
async function check(waiting: Waiting): Promise<boolean> {
  waiting.isChecking = true;
  try {
    const isTrue = await waiting.holds();
    delete waiting.error;
    return isTrue;
  } catch (error) {
    waiting.error = error;
    return false;
  } finally {
    waiting.isChecking = false;
  }
}

/** Ends the waits of a test that ran out of time, so that the test's other hooks can clean up. */
function endWaiting(): void {
  for (const waiting of waitings) {
    waiting.isOver = true;
    console.error(`not true when its test ended: ${describe(waiting)}`);
  }
  waitings.clear();
}
// Undefined in the long runs, which run without Jest
const { afterEach, afterAll } = globalThis as {
  afterEach?: (end: () => void) => void;
  afterAll?: (end: () => void) => void;
};
afterEach?.(endWaiting);
afterAll?.(endWaiting); // a beforeAll may run out of time, too
