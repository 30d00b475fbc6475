import type { CodeRows } from '../../../../lookups/code-rows.js';
import { type SeenList, inForceAt, seenListsOf } from '../seen-lists.js';
import { addedTo } from './added.js';
import type { Change } from './change.js';
import { descriptionsChanged } from './description-changed.js';
import { ORDER_BREAKS, orderChanged } from './order-changed.js';
import { REMOVAL_BREAKS, removedFrom } from './removed.js';
import { scheduledIn } from './scheduled.js';

/** What changes later than this is announced early enough to break nobody. */
const NOTICE_MS = 30 * 86_400_000;

/**
 * The lists of the plan in their order, and in each list its changes by time.
 * @param nowMs by the clock of the database
 */
export function changesBetween(before: CodeRows, after: CodeRows, nowMs: number): Change[] {
  const former = seenListsOf(before);
  const present = seenListsOf(after);
  const changes: Change[] = [];
  for (const title of new Set([...present.keys(), ...former.keys()])) {
    changes.push(...changesOfList(former.get(title), present.get(title), nowMs));
  }
  return changes;
}

/** One of the two may be missing: the property is new, or gone. */
function changesOfList(formerList: SeenList | undefined, presentList: SeenList | undefined, nowMs: number): Change[] {
  const list = presentList ?? formerList;
  if (!list) return [];
  const former = formerList ?? { ...list, entries: [] };
  const present = presentList ?? { ...list, entries: [] };
  const formerEntries = inForceAt(former.entries, nowMs);
  const presentEntries = inForceAt(present.entries, nowMs);
  const changes = [
    ...removedFrom(list, formerEntries, presentEntries),
    ...addedTo(list, formerEntries, presentEntries),
    ...descriptionsChanged(list, formerEntries, presentEntries),
    ...orderChanged(list, formerEntries, presentEntries),
    ...scheduledIn(former, present, nowMs).sort(byTime),
  ];
  return changes.map((change) => withDanger(change, nowMs));
}

function byTime(one: Change, other: Change): number {
  return Date.parse(one.at ?? '') - Date.parse(other.at ?? '');
}

function withDanger(change: Change, nowMs: number): Change {
  const aheadMs = change.at === undefined ? 0 : Date.parse(change.at) - nowMs;
  if (change.withdrawn || aheadMs >= NOTICE_MS) return change;
  if (change.kind === 'removed') return { ...change, breaks: REMOVAL_BREAKS };
  const isOrderOfValues = change.kind === 'order changed' && change.what === 'value';
  return isOrderOfValues ? { ...change, breaks: ORDER_BREAKS } : change;
}
