import { type Entry, type SeenList, inForceAt } from '../seen-lists.js';
import { addedEntry } from './added.js';
import type { Change } from './change.js';
import { orderChanged } from './order-changed.js';
import { removedEntry } from './removed.js';

/** All changes of a list that lie ahead. */
interface Schedule {
  /** What begins and ends, by a text of the whole change. */
  readonly entries: ReadonlyMap<string, Change>;
  /** The moments at which another order begins. */
  readonly orders: ReadonlyMap<number, Change>;
}

/**
 * What will change after `nowMs` and was not planned before, and what was planned and will not be. A change that was
 * planned is the same only if the whole line of the plan is: another moment or description makes it another one.
 */
export function scheduledIn(former: SeenList, present: SeenList, nowMs: number): Change[] {
  const before = scheduleOf(former, nowMs);
  const after = scheduleOf(present, nowMs);
  return [
    ...entriesNotIn(before, after),
    ...ordersNotIn(before, after),
    ...withdrawn(entriesNotIn(after, before)),
    ...withdrawn(ordersNotIn(after, before)),
  ];
}

function withdrawn(changes: readonly Change[]): Change[] {
  return changes.map((change) => ({ ...change, withdrawn: true }));
}

/** The entries of the second schedule that the first one lacks. */
function entriesNotIn(known: Schedule, schedule: Schedule): Change[] {
  const changes: Change[] = [];
  for (const [identity, change] of schedule.entries) {
    if (!known.entries.has(identity)) changes.push(change);
  }
  return changes;
}

/** The orders of the second schedule that the first one lacks. */
function ordersNotIn(known: Schedule, schedule: Schedule): Change[] {
  const changes: Change[] = [];
  for (const [momentMs, change] of schedule.orders) {
    const planned = known.orders.get(momentMs);
    if (planned === undefined || !isSameOrder(planned, change)) changes.push(change);
  }
  return changes;
}

/** Of the names that both have: a value that only one of them has is announced by itself. */
function isSameOrder({ order: one = [] }: Change, { order: other = [] }: Change): boolean {
  const ofOne = one.filter((name) => other.includes(name));
  const ofOther = other.filter((name) => one.includes(name));
  return ofOne.every((name, index) => name === ofOther[index]);
}

function scheduleOf(list: SeenList, nowMs: number): Schedule {
  const changes: Change[] = [];
  const beginningsMs = new Set<number>();
  for (const entry of list.entries) {
    const { validFromMs, validUntilMs } = entry.validity;
    if (validFromMs > nowMs) {
      changes.push({ ...addedEntry(list, entry), at: timeOf(validFromMs) });
      beginningsMs.add(validFromMs);
    }
    if (validUntilMs > nowMs && validUntilMs < Infinity) {
      changes.push({ ...removedEntry(list, entry), at: timeOf(validUntilMs) });
    }
  }
  return {
    entries: new Map(changes.map((change) => [JSON.stringify(change), change])),
    orders: ordersAt(list, beginningsMs),
  };
}

/** Where something begins in the middle of a list, the others change their places. */
function ordersAt(list: SeenList, momentsMs: ReadonlySet<number>): Map<number, Change> {
  const orders = new Map<number, Change>();
  if (list.what !== 'value') return orders; // properties have no moments, and records an order of their own
  for (const momentMs of momentsMs) {
    const isThereBefore = ({ validity }: Entry): boolean => validity.validFromMs < momentMs;
    const then = inForceAt(list.entries, momentMs);
    const [change] = orderChanged(list, then.filter(isThereBefore), then);
    if (change) orders.set(momentMs, { ...change, at: timeOf(momentMs) });
  }
  return orders;
}

function timeOf(momentMs: number): string {
  return new Date(momentMs).toISOString();
}
