import { setImmediate as turn } from 'node:timers/promises';

/** How long work may hold the event loop at a time, in milliseconds. */
const PIECE_MS = 5;

/** Runs a generator piece by piece, so that requests are handled in between. */
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
