/** What is waited for, and why the last look failed. */
interface Waiting {
  readonly holds: () => Promise<boolean>;
  isOver: boolean;
  error?: unknown;
}
const waitings = new Set<Waiting>();

/**
 * Asks again and again until the condition holds; for what has no event to wait for. Its only limit is the runner's.
 * The longer it has waited, the longer its pauses: what is asked works on the same cores.
 * @param everyMs instead: a fixed pause, where the time itself is measured
 */
export async function until(holds: () => Promise<boolean>, { everyMs }: { everyMs?: number } = {}): Promise<void> {
  const waiting: Waiting = { holds, isOver: false };
  const startedAtMs = performance.now();
  waitings.add(waiting);
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

/**
 * A test that ran out of time leaves its loops behind: they end, so that what it began is ended, and say what they have
 * waited for.
 */
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
