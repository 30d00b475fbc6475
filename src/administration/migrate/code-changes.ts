// Compares two states of the codes, and lists the changes that callers would see.
import { groupBy } from '../../lookups/group-by.js';
import type { Validity } from '../../database/entities.js';
import { COMMUNICATION_CODE } from '../../database/tables.js';
import { ALWAYS, AREAS, type CodeRows, ORDER_SCHEDULING, isInForce } from '../../lookups/code-rows.js';

/** The list in which something changes: properties of an area, values of a property, or communication codes. */
interface Place {
  readonly area: string;
  readonly what: 'property' | 'value' | 'record';
  /** The property whose values change. Only for `value`. */
  readonly property?: string;
}

/** One change that callers see, now or later. `plan --json` prints it, so do not rename its members. */
export interface Change extends Place {
  readonly kind: 'added' | 'removed' | 'changed' | 'order changed';
  /** The name of the property, value or record. Absent if an order changed. */
  readonly name?: string;
  /** The fields of a record in the answer, without its key. */
  readonly fields?: Fields;
  /** The fields of a record before the change. */
  readonly former?: Fields;
  /** The whole list in its new order, if the order changes. */
  readonly order?: readonly string[];
  /** The time of the change (RFC 3339). Absent if it happens immediately. */
  readonly at?: string;
  /** True if the change was planned for `at` before, and now will not happen. */
  readonly withdrawn?: true;
  /** The reason why the change can break clients. Absent if it cannot. */
  readonly breaks?: string;
}

type Fields = Readonly<Record<string, string>>;

/** A property, a value or a record. */
interface Entry {
  readonly name: string;
  readonly fields?: Fields;
  readonly validity: Validity;
}

/** The entries of one list in both states of the codes. */
interface Versions {
  readonly place: Place;
  readonly former: readonly Entry[];
  readonly present: readonly Entry[];
}

type ScheduledChange = Change & { readonly at: string };

/** A change that is at least this many days ahead does not break clients. docs/administrators.md names this number. */
export const NOTICE_DAYS = 30;
export const NOTICE_MS = NOTICE_DAYS * 86_400_000;
const REMOVAL_BREAKS = 'orders and clients may still contain it';
const ORDER_BREAKS = 'clients that read by position get another value';

/**
 * Returns the changes list by list: first those that happen immediately, then the planned ones in the order of time.
 * @param nowMs the present time, by the clock of the database
 */
export function findChanges(before: CodeRows, after: CodeRows, nowMs: number): Change[] {
  const former = findLists(before);
  const present = findLists(after);
  const changes: Change[] = [];
  const lists = new Map([...present, ...former]); // lists that are gone come last
  for (const [title, { place }] of lists) {
    const all = { place, former: former.get(title)?.entries ?? [], present: present.get(title)?.entries ?? [] };
    const inForce = { place, former: selectInForce(all.former, nowMs), present: selectInForce(all.present, nowMs) };
    changes.push(
      ...findRemoved(inForce),
      ...findAdded(inForce),
      ...findChanged(inForce),
      ...findReordered(inForce),
      ...findScheduled(all, nowMs),
    );
  }
  return changes.map((change) => ({ ...change, ...describeBreak(change, nowMs) }));
}

/** Returns the title of a list. It is unique: the name of a property has no space, unlike `its properties`. */
export function formatPlace({ area, what, property }: Place): string {
  if (what === 'value') return `${area}, ${property}`;
  return what === 'property' ? `${area}, its properties` : area;
}

function findLists({ properties, values, records }: CodeRows) {
  const lists: { readonly place: Place; readonly entries: readonly Entry[] }[] = [];
  const valuesByList = groupBy(values, ({ codeList }) => codeList);
  for (const area of AREAS) {
    const ofArea = properties.filter((row) => row.area === area);
    const names = ofArea.map(({ property }) => ({ name: property, validity: ALWAYS }));
    lists.push({ place: { area, what: 'property' }, entries: names });
    for (const { property, codeList } of ofArea) {
      const entries = (valuesByList.get(codeList) ?? []).map((row) => ({ name: row.value, validity: row }));
      lists.push({ place: { area, what: 'value', property }, entries });
    }
  }
  lists.push({ place: { area: ORDER_SCHEDULING, what: 'record' }, entries: records.map(toEntry) });
  return new Map(lists.map((list) => [formatPlace(list.place), list]));
}

function toEntry(record: CodeRows['records'][number]): Entry {
  return { ...describeRecord(record), validity: record };
}

/**
 * Returns the key of a record as its name, and its other columns as fields, except nulls. Times are left out, because a
 * changed validity is reported as added or removed. A column that you add to CommunicationCode becomes a field.
 */
export function describeRecord(record: CodeRows['records'][number]): { name: string; fields: Fields } {
  const values = new Map<string, string | number | null | undefined>(Object.entries(record));
  const key: string[] = [];
  const fields: Record<string, string> = {};
  for (const { property, isKey, type } of COMMUNICATION_CODE.columns) {
    const value = values.get(property);
    if (value === null || value === undefined) continue;
    const text = String(value);
    if (isKey) key.push(`${property} ${JSON.stringify(text)}`);
    else if (type !== 'timestamptz') fields[property] = text;
  }
  return { name: key.join(', '), fields };
}

function selectInForce(entries: readonly Entry[], timeMs: number): Entry[] {
  return entries.filter(({ validity }) => isInForce(validity, timeMs));
}

function findRemoved({ place, former, present }: Versions): Change[] {
  const remaining = new Set(present.map(({ name }) => name));
  const removed = former.filter(({ name }) => !remaining.has(name));
  return removed.map((entry) => toChange('removed', place, entry));
}

function findAdded({ place, former, present }: Versions): Change[] {
  const known = new Set(former.map(({ name }) => name));
  const added = present.filter(({ name }) => !known.has(name));
  return added.map((entry) => toChange('added', place, entry));
}

function findChanged({ place, former, present }: Versions): Change[] {
  const formerFields = new Map(former.map(({ name, fields }) => [name, fields]));
  const changes: Change[] = [];
  for (const entry of present) {
    const before = formerFields.get(entry.name);
    if (before === undefined || JSON.stringify(before) === JSON.stringify(entry.fields)) continue;
    changes.push({ ...toChange('changed', place, entry), former: before });
  }
  return changes;
}

/** Reports a new order, unless the former entries keep their order and all new entries come after them. */
function findReordered({ place, former, present }: Versions): Change[] {
  if (place.what === 'record') return []; // records are always ordered by code type and code
  const order = present.map(({ name }) => name);
  const formerOrder = former.map(({ name }) => name);
  const remaining = selectShared(formerOrder, order);
  const isSame = remaining.every((name, index) => order[index] === name);
  return isSame ? [] : [{ kind: 'order changed', ...place, order }];
}

function selectShared(names: readonly string[], others: readonly string[]): string[] {
  const known = new Set(others);
  return names.filter((name) => known.has(name));
}

function toChange(kind: Change['kind'], place: Place, { name, fields }: Entry): Change {
  return { kind, ...place, name, ...(fields && { fields }) };
}

/** Returns changes that become planned, and planned changes that are withdrawn, in the order of their times. */
function findScheduled({ place, former, present }: Versions, nowMs: number): Change[] {
  const before = findFutureChanges(place, former, nowMs);
  const after = findFutureChanges(place, present, nowMs);
  const withdrawn = selectUnknown(before, after).map((change) => ({ ...change, withdrawn: true as const }));
  return [...selectUnknown(after, before), ...withdrawn].sort(
    (one, other) => Date.parse(one.at) - Date.parse(other.at),
  );
}

/**
 * Returns the changes that `known` lacks. A change with another time or other fields is another change. Two new orders
 * at the same time are compared by `isSameOrder`.
 */
function selectUnknown(changes: readonly ScheduledChange[], known: readonly ScheduledChange[]): ScheduledChange[] {
  const identities = new Set(known.map((change) => JSON.stringify(change)));
  const ordersByTime = new Map<string, readonly string[]>();
  for (const { at, order } of known) if (order !== undefined) ordersByTime.set(at, order);
  const isKnown = (change: ScheduledChange): boolean => {
    if (change.order === undefined) return identities.has(JSON.stringify(change));
    const knownOrder = ordersByTime.get(change.at);
    return knownOrder !== undefined && isSameOrder(knownOrder, change.order);
  };
  return changes.filter((change) => !isKnown(change));
}

/** Returns whether the names that are in both lists come in the same order. A name in one list only does not matter. */
function isSameOrder(one: readonly string[], other: readonly string[]): boolean {
  const shared = selectShared(other, one);
  return selectShared(one, other).every((name, index) => name === shared[index]);
}

function findFutureChanges(place: Place, entries: readonly Entry[], nowMs: number): ScheduledChange[] {
  const changes: ScheduledChange[] = [];
  const beginningsMs = new Set<number>();
  for (const entry of entries) {
    const { validFromMs, validUntilMs } = entry.validity;
    if (validFromMs > nowMs) {
      changes.push({ ...toChange('added', place, entry), at: formatTime(validFromMs) });
      beginningsMs.add(validFromMs);
    }
    if (validUntilMs > nowMs && validUntilMs < Infinity) {
      changes.push({ ...toChange('removed', place, entry), at: formatTime(validUntilMs) });
    }
  }
  for (const timeMs of beginningsMs) changes.push(...scheduleOrder(place, entries, timeMs));
  return changes;
}

/** Returns the new order if a value begins in the middle of its list, which changes the positions of later values. */
function scheduleOrder(place: Place, entries: readonly Entry[], timeMs: number): ScheduledChange[] {
  if (place.what !== 'value') return []; // properties have no validity, and records are always ordered by their key
  const present = selectInForce(entries, timeMs);
  const former = present.filter(({ validity }) => validity.validFromMs < timeMs); // without the values that begin then
  return findReordered({ place, former, present }).map((change) => ({ ...change, at: formatTime(timeMs) }));
}

function formatTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

function describeBreak(change: Change, nowMs: number): Pick<Change, 'breaks'> {
  const { kind, what, at, withdrawn } = change;
  const aheadMs = at === undefined ? 0 : Date.parse(at) - nowMs;
  if (withdrawn || aheadMs >= NOTICE_MS) return {};
  if (kind === 'removed') return { breaks: REMOVAL_BREAKS };
  // Properties are members of a JSON object, whose order no client may rely on
  return kind === 'order changed' && what === 'value' ? { breaks: ORDER_BREAKS } : {};
}
