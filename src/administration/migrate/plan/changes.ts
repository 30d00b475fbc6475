import { AREAS, type CodeRows, isInForce } from '../../../codes/code-rows.js';
import { groupBy } from '../../../codes/group-by.js';
import type { Validity } from '../../../database/entities/validity.js';

/** One difference that callers see: of a property of an area, a value of a property, or a communication code. */
export interface Change {
  readonly kind: 'added' | 'removed' | 'moved' | 'changed';
  readonly what: 'property' | 'value' | 'record';
  readonly area: string;
  /** Of a value. */
  readonly property?: string;
  readonly name: string;
  /** Of a communication code, and what it was before. */
  readonly description?: string;
  readonly former?: string | undefined;
  /** What a value or property stands behind; null at the beginning. Absent where it only makes the list longer. */
  readonly after?: string | null;
  /** The moment at which callers see it (RFC 3339); without it, at once. */
  readonly at?: string;
  /** It was scheduled for that moment, and is no longer. */
  readonly withdrawn?: true;
  /** Why it can break clients. */
  readonly breaks?: string | undefined;
}

interface Entry extends Validity {
  readonly seen: Pick<Change, 'what' | 'area' | 'property' | 'name' | 'description'>;
}
type List = readonly Entry[];

/** An end that is as far away counts as announced. */
const NOTICE_MS = 30 * 86_400_000;

/** What callers see change when `after` takes the place of `before`: at once, and at each later moment. */
export function changesBetween(before: CodeRows, after: CodeRows, now: number): Change[] {
  const [former, present] = [listsOf(before), listsOf(after)];
  const changes: Change[] = [];
  for (const key of new Set([...present.keys(), ...former.keys()])) {
    const [old, fresh] = [former.get(key) ?? [], present.get(key) ?? []];
    const [plans, plansNow] = [scheduleOf(old, now), scheduleOf(fresh, now)];
    changes.push(...compare(inForce(old, now), inForce(fresh, now)));
    for (const [text, change] of plansNow) if (!plans.has(text)) changes.push(change);
    for (const [text, change] of plans)
      if (!plansNow.has(text)) changes.push({ ...change, withdrawn: true });
  }
  const time = ({ at }: Change): number => (at === undefined ? now : Date.parse(at));
  return changes
    .sort((one, other) => time(one) - time(other))
    .map((change) => ({ ...change, breaks: danger(change, time(change) - now) }));
}

/** Members of an object and records are found by their names, values also by their places. */
function danger({ kind, what, after, withdrawn }: Change, notice: number): string | undefined {
  if (withdrawn || notice >= NOTICE_MS) return undefined;
  if (kind === 'removed') return 'orders and clients may still hold it';
  return what === 'value' && after !== undefined
    ? 'clients that go by position read another one'
    : undefined;
}

/** What callers see of all moments, in the order of the answers: the properties of each area, the values of each property, the records. */
function listsOf({ properties, values, records }: CodeRows): Map<string, Entry[]> {
  const valuesOf = groupBy(values, ({ codeList }) => codeList);
  const entries: Entry[] = [];
  for (const area of AREAS)
    for (const { property, codeList } of properties.filter((row) => row.area === area)) {
      const always = { validFrom: -Infinity, validUntil: Infinity };
      entries.push({ ...always, seen: { what: 'property', area, name: property } });
      for (const { value: name, validFrom, validUntil } of valuesOf.get(codeList) ?? [])
        entries.push({ validFrom, validUntil, seen: { what: 'value', area, property, name } });
    }
  for (const { codeType, code, json, validity } of records) {
    const { validFrom, validUntil } = validity;
    const name = `codeType ${JSON.stringify(codeType)}, code ${JSON.stringify(code)}`;
    const { description } = JSON.parse(json) as { description: string };
    const seen = { what: 'record', area: 'order-scheduling', name, description } as const;
    entries.push({ validFrom, validUntil, seen });
  }
  return groupBy(entries, ({ seen: { area, property } }) => `${area} ${property}`);
}

const inForce = (list: List, moment: number): List =>
  list.filter((entry) => isInForce(entry, moment));

function compare(former: List, present: List): Change[] {
  const places = new Map(former.map(({ seen }, at) => [seen.name, at]));
  const placeOf = ({ seen }: Entry): number => places.get(seen.name) ?? -1;
  const unmoved = longestRun(present.map(placeOf).filter((place) => place >= 0));
  const isUnmoved = (entry: Entry): boolean => unmoved.has(placeOf(entry));
  const kept = new Set(present.map(({ seen }) => seen.name));
  const gone = former.filter(({ seen }) => !kept.has(seen.name));
  const changes = gone.map(({ seen }): Change => ({ ...seen, kind: 'removed' }));
  for (const entry of present) {
    const { seen } = entry;
    const old = former[placeOf(entry)]?.seen;
    if (!old) changes.push({ ...seen, kind: 'added', ...placed(present, entry, isUnmoved) });
    else if (!isUnmoved(entry))
      changes.push({ ...seen, kind: 'moved', ...placed(present, entry, () => true) });
    else if (old.description !== seen.description)
      changes.push({ ...seen, kind: 'changed', former: old.description });
  }
  return changes;
}

/** The longest run of places that increase: what stands there was not moved. */
function longestRun(places: readonly number[]): Set<number> {
  const ends: number[] = []; // the lowest place at which a run of each length ends
  const former = new Map<number, number | undefined>();
  for (const place of places) {
    const length = ends.findLastIndex((end) => end < place) + 1;
    former.set(place, ends[length - 1]);
    ends[length] = place;
  }
  const run = new Set<number>();
  for (let place = ends.at(-1); place !== undefined; place = former.get(place)) run.add(place);
  return run;
}

/** What an entry stands behind, if old ones come after it. Records are found by their names. */
function placed(
  list: List,
  entry: Entry,
  isOld: (one: Entry) => boolean,
): { after?: string | null } {
  const at = list.indexOf(entry);
  if (entry.seen.what === 'record' || !list.slice(at).some(isOld)) return {};
  return { after: list[at - 1]?.seen.name ?? null };
}

/** Changes after `now`, by a text that identifies each. */
function scheduleOf(list: List, now: number): Map<string, Change> {
  const changes: Change[] = [];
  for (const entry of list) {
    const { seen, validFrom, validUntil } = entry;
    if (validFrom > now) {
      const place = placed(inForce(list, validFrom), entry, (one) => one.validFrom < validFrom);
      changes.push({ ...seen, kind: 'added', at: new Date(validFrom).toISOString(), ...place });
    }
    if (validUntil > now && validUntil < Infinity)
      changes.push({ ...seen, kind: 'removed', at: new Date(validUntil).toISOString() });
  }
  return new Map(changes.map((one) => [JSON.stringify({ ...one, after: undefined }), one]));
}
