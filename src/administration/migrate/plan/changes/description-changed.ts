import type { Entry, SeenList } from '../seen-lists.js';
import { type Change, placeOf } from './change.js';

export function descriptionsChanged(list: SeenList, former: readonly Entry[], present: readonly Entry[]): Change[] {
  const formerEntries = new Map(former.map((entry) => [entry.name, entry]));
  const changes: Change[] = [];
  for (const { name, description } of present) {
    const before = formerEntries.get(name);
    if (before === undefined || before.description === description) continue;
    changes.push({
      kind: 'changed',
      ...placeOf(list),
      name,
      description,
      former: before.description,
    });
  }
  return changes;
}
