import type { Entry, SeenList } from '../seen-lists.js';
import { type Change, placeOf } from './change.js';

export const ORDER_BREAKS = 'clients that go by position read another one';

/** Whether a list is more than what was there before, in the same order, with new entries behind it. */
export function orderChanged(list: SeenList, former: readonly Entry[], present: readonly Entry[]): Change[] {
  if (list.what === 'record') return []; // by code type and code, whatever is added
  const names = present.map(({ name }) => name);
  const stillThere = new Set(names);
  const kept = former.map(({ name }) => name).filter((name) => stillThere.has(name));
  const isSame = kept.every((name, index) => names[index] === name);
  return isSame ? [] : [{ kind: 'order changed', ...placeOf(list), order: names }];
}
