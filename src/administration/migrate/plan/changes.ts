import { AREAS, type CodeRecord, type CodeRows, isInForce } from '../../../codes/code-rows.js';
import { type ListChange, compareLists } from './compare-lists.js';

interface RecordChange {
  readonly kind: 'added' | 'removed' | 'changed';
  readonly what: 'record';
  readonly area: 'order-scheduling';
  readonly codeType: string;
  readonly code: string;
  readonly description: string;
  /** The description before the change. */
  readonly former?: string;
}

type ListOf =
  | { readonly what: 'property'; readonly area: string }
  | { readonly what: 'value'; readonly area: string; readonly property: string };

/** One difference that callers see. */
export type Change = ((ListChange & ListOf) | RecordChange) & {
  /** The moment at which callers see it (RFC 3339); without it, at once. */
  readonly at?: string;
  /** It was scheduled for that moment, and is no longer. */
  readonly withdrawn?: true;
  /** Why it can break clients. */
  readonly breaks?: string;
};

/** In milliseconds, less than the resolution of PostgreSQL's timestamps. */
const JUST_BEFORE = 0.0005;
const DAY_MS = 86_400_000;
/** An end that is as far away counts as announced. */
const NOTICE_DAYS = 30;

/** What callers see change when `after` takes the place of `before`: at once, and at each later moment. */
export function changesBetween(before: CodeRows, after: CodeRows, now: number): Change[] {
  const [former, present] = [scheduleOf(before, now), scheduleOf(after, now)];
  const scheduled = [
    ...[...present].flatMap(([key, change]) => (former.has(key) ? [] : [change])),
    ...[...former].flatMap(([key, change]): Change[] =>
      present.has(key) ? [] : [{ ...change, withdrawn: true }],
    ),
  ].sort((one, other) => Date.parse(one.at ?? '') - Date.parse(other.at ?? ''));
  return [
    ...changesOfLists(listsAt(before, now), listsAt(after, now)),
    ...changesOfRecords(recordsAt(before, now), recordsAt(after, now)),
    ...scheduled,
  ].map((change) => {
    const breaks = danger(change, now);
    return breaks === undefined ? change : { ...change, breaks };
  });
}

function danger({ kind, what, at, withdrawn, ...change }: Change, now: number): string | undefined {
  if (withdrawn || kind === 'changed') return undefined;
  const isPlaced = 'after' in change && change.after !== undefined;
  // Members of an object and records are found by their names
  if ((kind === 'added' || kind === 'moved') && !(what === 'value' && isPlaced)) return undefined;
  const days = at === undefined ? 0 : Math.floor((Date.parse(at) - now) / DAY_MS);
  if (days >= NOTICE_DAYS) return undefined;
  if (at !== undefined)
    return `in ${days} day${days === 1 ? '' : 's'}: ${NOTICE_DAYS} days of notice are usual`;
  if (kind === 'removed') return 'orders and clients may still hold it';
  if (kind === 'renamed') return 'for clients the old one is gone';
  return 'clients that go by position read another one';
}

/** Names in their order, by a key that identifies the list. */
type Lists = ReadonlyMap<string, { of: ListOf; names: readonly string[] }>;

/** The properties of each area and the values of each property; properties do not depend on the moment. */
function listsAt({ properties, values }: CodeRows, moment: number): Lists {
  const lists = new Map<string, string[]>();
  const listOf = (name: string): string[] => {
    const list = lists.get(name) ?? [];
    lists.set(name, list);
    return list;
  };
  for (const row of values) if (isInForce(row, moment)) listOf(row.codeList).push(row.value);
  const found = new Map<string, { of: ListOf; names: string[] }>();
  for (const area of AREAS) {
    const own = properties.filter((row) => row.area === area);
    found.set(area, { of: { what: 'property', area }, names: own.map((row) => row.property) });
    for (const { property, codeList } of own)
      found.set(`${area} ${property}`, {
        of: { what: 'value', area, property },
        names: listOf(codeList),
      });
  }
  return found;
}

/** A list that only one of the two has is no news beside its property. */
const changesOfLists = (before: Lists, after: Lists): Change[] =>
  [...after].flatMap(([key, { of, names }]) => {
    const former = before.get(key)?.names ?? names;
    return former.join('\0') === names.join('\0')
      ? []
      : compareLists(former, names).map((change): Change => ({ ...change, ...of }));
  });

/** Scheduled changes after `now`, keyed by a text that identifies each. */
function scheduleOf(rows: CodeRows, now: number): Map<string, Change> {
  const [ending, beginning] = [new Map<number, CodeRecord[]>(), new Map<number, CodeRecord[]>()];
  const add = (where: Map<number, CodeRecord[]>, time: number, record: CodeRecord): void => {
    const list = where.get(time);
    if (list) list.push(record);
    else where.set(time, [record]);
  };
  for (const record of rows.records) {
    add(beginning, record.validity.validFrom, record);
    add(ending, record.validity.validUntil, record);
  }
  const times = new Set(rows.values.flatMap((row) => [row.validFrom, row.validUntil]));
  const schedule = new Map<string, Change>();
  for (const time of new Set([...times, ...beginning.keys(), ...ending.keys()])) {
    if (time <= now || time === Infinity) continue;
    const changes = [
      ...(times.has(time)
        ? changesOfLists(listsAt(rows, time - JUST_BEFORE), listsAt(rows, time))
        : []),
      ...changesOfRecords(byKey(ending.get(time) ?? []), byKey(beginning.get(time) ?? [])),
    ];
    const at = new Date(time).toISOString();
    for (const change of changes) {
      const hidden = change.kind === 'removed' ? 'description' : 'after';
      const key = Object.entries(change).filter(([name]) => name !== hidden);
      schedule.set(JSON.stringify([at, key]), { ...change, at });
    }
  }
  return schedule;
}

const byKey = (records: readonly CodeRecord[]): Map<string, CodeRecord> =>
  new Map(records.map((record) => [`${record.codeType}\0${record.code}`, record]));

const recordsAt = ({ records }: CodeRows, moment: number): Map<string, CodeRecord> =>
  byKey(records.filter(({ validity }) => isInForce(validity, moment)));

function changesOfRecords(
  before: ReadonlyMap<string, CodeRecord>,
  after: ReadonlyMap<string, CodeRecord>,
): Change[] {
  return [...new Map([...after, ...before])].flatMap(([key]): Change[] => {
    const [former, present] = [before.get(key)?.json, after.get(key)?.json];
    if (former === present) return [];
    const common = {
      what: 'record',
      area: 'order-scheduling',
      ...recordOf(present ?? former),
    } as const;
    if (former === undefined) return [{ kind: 'added', ...common }];
    return present === undefined
      ? [{ kind: 'removed', ...common }]
      : [{ kind: 'changed', ...common, former: recordOf(former).description }];
  });
}

const recordOf = (json = '{}') =>
  JSON.parse(json) as Pick<RecordChange, 'codeType' | 'code' | 'description'>;
