import { setTimeout as pause } from 'node:timers/promises';

/** Waits, and ends early when `signal` is aborted. It does not keep the process alive. */
export async function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await pause(Math.max(0, milliseconds), undefined, { signal, ref: false });
  } catch {
    // The signal was aborted, so whoever waits looks at it and ends
  }
}
