import { setImmediate as turn } from 'node:timers/promises';

/** Milliseconds for which work holds the event loop at a time. */
const PIECE_MS = 5;

/** Does work that yields every now and then, and lets requests be handled in between. */
export async function inPieces<Result>(work: Generator<void, Result>): Promise<Result> {
  for (;;) {
    const end = performance.now() + PIECE_MS;
    do {
      const { done, value } = work.next();
      if (done) return value;
    } while (performance.now() < end);
    await turn();
  }
}
