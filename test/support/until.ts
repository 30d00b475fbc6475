import { sayIfLate } from './waiting.js';

/** A condition for which a test waits. `error` is the reason why the last check failed. */
interface Waiting {
  readonly holds: () => Promise<boolean>;
  isOver: boolean;
  error?: unknown;
}
const waitings = new Set<Waiting>();

/**
 * Checks a condition again and again until it is true, or until the test runner ends the test. Use it if there is no
 * event to wait for. The pauses become longer, because the checked program runs on the same cores.
 * @param everyMs a fixed pause, for a test that measures the time itself
 */
export function until(holds: () => Promise<boolean>, { everyMs }: { everyMs?: number } = {}): Promise<void> {
  const waiting: Waiting = { holds, isOver: false };
  waitings.add(waiting);
  return sayIfLate(holds.toString(), () => ask(waiting, everyMs));
}

async function ask(waiting: Waiting, everyMs: number | undefined): Promise<void> {
  const { holds } = waiting;
  const startedAtMs = performance.now();
  while (!waiting.isOver) {
    try {
      if (await holds()) {
        waitings.delete(waiting);
        return;
      }
      delete waiting.error;
    } catch (error) {
      waiting.error = error;
    }
    const pauseMs = everyMs ?? Math.max(20, (performance.now() - startedAtMs) / 10);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  throw new Error(`the test has ended: ${holds.toString()}`);
}

/** Ends the waits of a test that ran out of time, so that its other hooks can clean up. Says for what they waited. */
function endWaiting(): void {
  for (const waiting of waitings) {
    waiting.isOver = true;
    console.error('not true when its test ended:', waiting.holds.toString(), waiting.error ?? '');
  }
  waitings.clear();
}
// The long runs have no hooks
const { afterEach, afterAll } = globalThis as {
  afterEach?: (end: () => void) => void;
  afterAll?: (end: () => void) => void;
};
afterEach?.(endWaiting);
afterAll?.(endWaiting); // a beforeAll may run out of time, too
