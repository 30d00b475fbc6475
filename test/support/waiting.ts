import { type EventEmitter, once } from 'node:events';
// These timers are imported from node:timers, because a test may replace the global ones.
import { clearTimeout, setTimeout } from 'node:timers';

/** The time after which a wait says for what it waits. Keep it below WAIT_LIMIT_MS and the time of late-tests.ts. */
const SAID_AFTER_MS = 30_000;

/**
 * The time after which a wait of a test fails, and says what never came. On a quiet machine no wait takes 20 s. Keep it
 * below the times of late-tests.ts and time-limits.ts, whose messages do not say for what the test waits.
 */
export const WAIT_LIMIT_MS = 45_000;

interface Options {
  readonly afterMs?: number;
  /** The default is standard error. Jest shows it immediately, but console.error only after the last test of a file. */
  readonly say?: (text: string) => void;
  /** The time after which the wait fails. */
  readonly limitMs?: number;
}

/**
 * Returns the result of the wait. After 30 s it names what it waits for, and the line of the test.
 * @throws Error with the same facts, if the wait does not end within its limit
 */
export async function limitWait<T>(
  what: string | (() => string),
  wait: () => Promise<T>,
  { afterMs = SAID_AFTER_MS, say = (text) => void process.stderr.write(text), limitMs = WAIT_LIMIT_MS }: Options = {},
): Promise<T> {
  const here = new Error('here');
  const describe = (): string => `${describeTest(here.stack ?? '')}: ${describeWhat(what)}`;
  const saying = setTimeout(() => say(`\nStill waiting after ${afterMs / 1_000} s, ${describe()}\n`), afterMs);
  let failing: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    const fail = (): void => reject(new Error(`Not within ${limitMs / 1_000} s, ${describe()}`));
    failing = setTimeout(fail, limitMs);
  });
  try {
    return await Promise.race([wait(), limit]);
  } finally {
    clearTimeout(saying);
    clearTimeout(failing);
  }
}

/**
 * Returns the arguments of the next event of this name.
 * @throws Error if the event does not come within the limit, or if an `error` comes first
 */
export const nextEvent = (emitter: EventEmitter, name: string): Promise<unknown[]> =>
  limitWait(`the event ${name} of ${emitter.constructor.name}`, () => once(emitter, name));

function describeWhat(what: string | (() => string)): string {
  try {
    return typeof what === 'string' ? what : what();
  } catch (error) {
    return String(error); // an error in a timer would be uncaught, and the wait would never fail
  }
}

/** Returns the line of the test's file at which the wait began. If no such line is known, returns the file. */
function describeTest(stack: string): string {
  const [place] = /[^\s(/]+[.-]spec\.ts:\d+/.exec(stack) ?? []; // such as waiting.spec.ts:12
  // Undefined in test/faults and test/bench, which Jest does not run
  const { expect } = globalThis as { expect?: { getState(): { testPath?: string } } };
  return place ?? expect?.getState().testPath ?? 'somewhere in the tests';
}
