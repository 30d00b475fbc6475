// The timers of node:timers: those that a test replaces are the global ones.
import { clearTimeout, setTimeout } from 'node:timers';

/** The time after which a wait says what it waits for. A test that waits for ever has no other sign of life. */
const SAID_AFTER_MS = 30_000;

interface Options {
  readonly afterMs?: number;
  readonly say?: (text: string) => void;
}

/**
 * Returns what the wait gives. If the wait takes 30 s, says on standard error what it waits for, and from where in the
 * tests. Jest shows standard error at once, and console.error only after the file.
 */
export async function sayIfLate<T>(
  what: string,
  wait: () => Promise<T>,
  { afterMs = SAID_AFTER_MS, say = (text) => void process.stderr.write(text) }: Options = {},
): Promise<T> {
  const { stack = '' } = new Error('here');
  const timer = setTimeout(
    () => say(`\nStill waiting after ${afterMs / 1_000} s, ${describeTest(stack)}: ${what}\n`),
    afterMs,
  );
  try {
    return await wait();
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the place in the test's file, if the wait began there. */
function describeTest(stack: string): string {
  const [place] = /[^\s(/]+[.-]spec\.ts:\d+/.exec(stack) ?? ['somewhere in the tests'];
  return place;
}
