import type { Entry, SeenList } from '../seen-lists.js';
import { type Change, placeOf } from './change.js';

export const REMOVAL_BREAKS = 'orders and clients may still hold it';

/** What goes from a list, now. */
export function removedFrom(list: SeenList, former: readonly Entry[], present: readonly Entry[]): Change[] {
  const kept = new Set(present.map(({ name }) => name));
  const removed = former.filter(({ name }) => !kept.has(name));
  return removed.map((entry) => removedEntry(list, entry));
}

export function removedEntry(list: SeenList, { name, description }: Entry): Change {
  return { kind: 'removed', ...placeOf(list), name, description };
}
