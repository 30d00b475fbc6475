// These timers are imported from node:timers, because a test may replace the global ones.
import { clearTimeout, setTimeout } from 'node:timers';

/** The time after which a wait says for what it waits. Without this, nobody would see why a test does not end. */
const SAID_AFTER_MS = 30_000;

/**
 * The time after which a wait of a test fails, and says what never came. On a quiet machine no wait takes 10 s. Keep
 * this limit below those of time-limits.ts, because Jest's error at those limits does not say for what the test waited.
 */
export const WAIT_LIMIT_MS = 45_000;

interface Options {
  readonly afterMs?: number;
  readonly say?: (text: string) => void;
  /** The time after which the wait fails. By default only the test runner ends it. */
  readonly limitMs?: number;
}

/**
 * Returns the result of the wait. After 30 s it writes to standard error for what it waits, and from which place in the
 * tests. Jest shows standard error immediately, but console.error only after the file.
 */
export async function sayIfLate<T>(
  what: string | (() => string),
  wait: () => Promise<T>,
  { afterMs = SAID_AFTER_MS, say = (text) => void process.stderr.write(text), limitMs }: Options = {},
): Promise<T> {
  const { stack = '' } = new Error('here');
  const timers = [
    setTimeout(
      () => say(`\nStill waiting after ${afterMs / 1_000} s, ${describeTest(stack)}: ${toText(what)}\n`),
      afterMs,
    ),
  ];
  const limit = new Promise<never>((_resolve, reject) => {
    if (limitMs === undefined) return;
    const fail = (): void => reject(new Error(`Not within ${limitMs / 1_000} s: ${toText(what)}`));
    timers.push(setTimeout(fail, limitMs));
  });
  try {
    return await Promise.race([wait(), limit]);
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
}

function toText(what: string | (() => string)): string {
  return typeof what === 'string' ? what : what();
}

/** Returns the line of the test's file at which the wait began. If no such line is known, returns the file. */
function describeTest(stack: string): string {
  const [place] = /[^\s(/]+[.-]spec\.ts:\d+/.exec(stack) ?? [];
  // Undefined in test/faults and test/bench, which Jest does not run
  const { expect } = globalThis as { expect?: { getState(): { testPath?: string } } };
  return place ?? expect?.getState().testPath ?? 'somewhere in the tests';
}
