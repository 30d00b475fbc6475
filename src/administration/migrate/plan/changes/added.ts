import type { Entry, SeenList } from '../seen-lists.js';
import { type Change, placeOf } from './change.js';

/** What comes to a list, now. */
export function addedTo(list: SeenList, former: readonly Entry[], present: readonly Entry[]): Change[] {
  const known = new Set(former.map(({ name }) => name));
  const added = present.filter(({ name }) => !known.has(name));
  return added.map((entry) => addedEntry(list, entry));
}

export function addedEntry(list: SeenList, { name, description }: Entry): Change {
  return { kind: 'added', ...placeOf(list), name, description };
}
