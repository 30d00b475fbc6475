import { type Entry, type SeenList, inForceAt } from '../seen-lists.js';
import { addedEntry } from './added.js';
import type { Change } from './change.js';
import { orderChanged } from './order-changed.js';
import { removedEntry } from './removed.js';

/** What begins and ends after `now`, and was not planned before; and what was planned, and no longer is. */
export function scheduledIn(former: SeenList, present: SeenList, now: number): Change[] {
  const before = scheduleOf(former, now);
  const after = scheduleOf(present, now);
  const changes: Change[] = [];
  for (const [identity, change] of after) {
    if (!before.has(identity)) changes.push(change);
  }
  for (const [identity, change] of before) {
    if (!after.has(identity)) changes.push({ ...change, withdrawn: true });
  }
  return changes;
}

/** All changes of a list that lie ahead, by a text that identifies each. */
function scheduleOf(list: SeenList, now: number): Map<string, Change> {
  const changes: Change[] = [];
  const beginnings = new Set<number>();
  for (const entry of list.entries) {
    const { validFromMs, validUntilMs } = entry.validity;
    if (validFromMs > now) {
      changes.push({ ...addedEntry(list, entry), at: timeOf(validFromMs) });
      beginnings.add(validFromMs);
    }
    if (validUntilMs > now && validUntilMs < Infinity) {
      changes.push({ ...removedEntry(list, entry), at: timeOf(validUntilMs) });
    }
  }
  for (const moment of beginnings) changes.push(...orderChangedAt(list, moment));
  return new Map(changes.map((change) => [JSON.stringify(change), change]));
}

function orderChangedAt(list: SeenList, moment: number): Change[] {
  if (list.what !== 'value') return [];
  const isThereBefore = ({ validity }: Entry): boolean => validity.validFromMs < moment;
  const then = inForceAt(list.entries, moment);
  const changes = orderChanged(list, then.filter(isThereBefore), then);
  return changes.map((change) => ({ ...change, at: timeOf(moment) }));
}

function timeOf(moment: number): string {
  return new Date(moment).toISOString();
}
