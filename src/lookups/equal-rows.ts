import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { CodeRows } from './code-rows.js';

/** So many are compared in one turn of the event loop, which takes about 5 ms. */
const ROWS_PER_TURN = 5_000;

/** Whether both hold the same rows, in the same order, made by the same classes. Requests have their turn between. */
export async function areRowsEqual(one: CodeRows, other: CodeRows): Promise<boolean> {
  const areSmallOnesEqual =
    (await areListsEqual(one.properties, other.properties)) && (await areListsEqual(one.values, other.values));
  return areSmallOnesEqual && areListsEqual(one.records, other.records);
}

async function areListsEqual(one: readonly object[], other: readonly object[]): Promise<boolean> {
  if (one.length !== other.length) return false;
  for (let start = 0; start < one.length; start += ROWS_PER_TURN) {
    await nextTurn();
    const end = start + ROWS_PER_TURN;
    if (!isDeepStrictEqual(one.slice(start, end), other.slice(start, end))) return false;
  }
  return true;
}
