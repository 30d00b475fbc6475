import { sayIfLate } from './waiting.js';

/** A condition that is waited for. `error` is why the last look failed. */
interface Waiting {
  readonly holds: () => Promise<boolean>;
  isOver: boolean;
  error?: unknown;
}
const waitings = new Set<Waiting>();

/**
 * Asks again and again until the condition is true, if there is no event to wait for. Only the runner ends the wait.
 * The pauses grow with the time, because what is asked works on the same cores.
 * @param everyMs a fixed pause instead, for a test that measures the time itself
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

/** Ends the loops of a test that ran out of time, so that afterEach can clean up. Says what they waited for. */
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
