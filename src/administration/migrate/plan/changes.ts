import { ALWAYS, AREAS, type CodeRows, isInForce } from '../../../lookups/code-rows.js';
import { groupBy } from '../../../collections/group-by.js';
import type { Validity } from '../../../database/entities.js';

export interface Change {
  readonly kind: 'added' | 'removed' | 'moved' | 'changed';
  readonly what: 'property' | 'value' | 'record';
  readonly area: string;
  readonly property?: string; // of a value
  readonly name: string;
  readonly description?: string; // of a record, now and before
  readonly former?: string | undefined;
  /** What a value or property stands behind, null at the beginning; absent where the list only becomes longer. */
  readonly after?: string | null | undefined;
  readonly at?: string; // RFC 3339; absent: at once
  readonly withdrawn?: true; // it was scheduled before
  readonly breaks?: string | undefined; // why it can break clients
}
type Seen = Pick<Change, 'what' | 'area' | 'property' | 'name' | 'description'>;
type List = readonly { readonly validity: Validity; readonly seen: Seen }[];

const NOTICE_MS = 30 * 86_400_000;

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

function danger({ kind, what, after, withdrawn }: Change, ahead: number): string | undefined {
  if (withdrawn || ahead >= NOTICE_MS) return undefined;
  if (kind === 'removed') return 'orders and clients may still hold it';
  if (what !== 'value' || after === undefined) return undefined;
  return 'clients that go by position read another one';
}

/** What callers see of all moments: the properties of each area, the values of each property, and each record, whose place does not count. */
function listsOf({ properties, values, records }: CodeRows): Map<string, List> {
  const valuesOf = groupBy(values, ({ codeList }) => codeList);
  const entries: List[0][] = [];
  for (const area of AREAS)
    for (const { property, codeList } of properties.filter((row) => row.area === area)) {
      entries.push({ validity: ALWAYS, seen: { what: 'property', area, name: property } });
      for (const row of valuesOf.get(codeList) ?? [])
        entries.push({ validity: row, seen: { what: 'value', area, property, name: row.value } });
    }
  for (const row of records) {
    const { codeType, code, description } = row;
    const name = `codeType ${JSON.stringify(codeType)}, code ${JSON.stringify(code)}`;
    entries.push({
      validity: row,
      seen: { what: 'record', area: 'order-scheduling', name, description },
    });
  }
  return groupBy(entries, ({ seen: { what, area, property, name } }) =>
    what === 'record' ? name : `${area} ${property}`,
  );
}

const inForce = (list: List, moment: number): List =>
  list.filter(({ validity }) => isInForce(validity, moment));

function compare(former: List, present: List): Change[] {
  const places = new Map(former.map(({ seen }, at) => [seen.name, at]));
  const unmoved = longestRun(present.flatMap(({ seen }) => places.get(seen.name) ?? []));
  const gone = former.filter(({ seen }) => present.every((one) => one.seen.name !== seen.name));
  const changes = gone.map(({ seen }): Change => ({ ...seen, kind: 'removed' }));
  for (const [at, { seen }] of present.entries()) {
    const place = places.get(seen.name) ?? -1;
    const old = former[place]?.seen;
    const after = placed(present, at, (one) => places.has(one.seen.name));
    if (!old) changes.push({ ...seen, kind: 'added', after });
    else if (!unmoved.has(place)) changes.push({ ...seen, kind: 'moved', after });
    else if (old.description !== seen.description)
      changes.push({ ...seen, kind: 'changed', former: old.description });
  }
  return changes;
}

/** The longest run of places that increase: what stands there was not moved. */
function longestRun(places: readonly number[]): Set<number> {
  type Run = { readonly end: number; readonly shorter: Run | undefined };
  const runs: Run[] = []; // of each length the one with the lowest end
  for (const end of places) {
    const length = runs.findLastIndex((run) => run.end < end) + 1;
    runs[length] = { end, shorter: runs[length - 1] };
  }
  const unmoved = new Set<number>();
  for (let run = runs.at(-1); run; run = run.shorter) unmoved.add(run.end);
  return unmoved;
}

/** What an entry stands behind, if old ones come after it. */
const placed = (list: List, at: number, isOld: (one: List[0]) => boolean) =>
  list.slice(at).some(isOld) ? (list[at - 1]?.seen.name ?? null) : undefined;

/** Changes after `now`, by a text that identifies each. */
function scheduleOf(list: List, now: number): Map<string, Change> {
  const changes: Change[] = [];
  for (const entry of list) {
    const { validFrom, validUntil } = entry.validity;
    if (validFrom > now) {
      const then = inForce(list, validFrom);
      const after = placed(then, then.indexOf(entry), (one) => one.validity.validFrom < validFrom);
      changes.push({ ...entry.seen, kind: 'added', at: new Date(validFrom).toISOString(), after });
    }
    if (validUntil > now && validUntil < Infinity)
      changes.push({ ...entry.seen, kind: 'removed', at: new Date(validUntil).toISOString() });
  }
  return new Map(changes.map((one) => [JSON.stringify({ ...one, after: undefined }), one]));
}
