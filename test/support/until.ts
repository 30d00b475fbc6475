/** What is waited for, and why the last look failed. */
interface Waiting {
  readonly holds: () => Promise<boolean>;
  isOver: boolean;
  error?: unknown;
}
const waitings = new Set<Waiting>();

/**
 * Asks again and again until the condition holds; for what has no event to wait for. Its only limit is the runner's.
 */
export async function until(holds: () => Promise<boolean>, { everyMs = 20 } = {}): Promise<void> {
  const waiting: Waiting = { holds, isOver: false };
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
    await new Promise((resolve) => setTimeout(resolve, everyMs));
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
