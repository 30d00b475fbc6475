import { type CodeRecord, type CodeRows, isInForce } from '../../../codes/code-rows.js';
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

/** One difference that callers see. */
export type Change = (
  | (ListChange & { readonly what: 'property'; readonly area: string })
  | (ListChange & { readonly what: 'value'; readonly area: string; readonly property: string })
  | RecordChange
) & {
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
    ...changesOfProperties(before, after),
    ...changesOfValues(listsAt(before, now), listsAt(after, now)),
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

/** By area and property, in their order: the values. */
type Lists = ReadonlyMap<string, { area: string; property: string; values: readonly string[] }>;

function listsAt({ properties, values }: CodeRows, moment: number): Lists {
  const lists = new Map<string, string[]>();
  for (const row of values)
    if (isInForce(row, moment)) {
      const list = lists.get(row.codeList) ?? [];
      if (list.length === 0) lists.set(row.codeList, list);
      list.push(row.value);
    }
  return new Map(
    properties.map(({ area, property, codeList }) => [
      `${area} ${property}`,
      { area, property, values: lists.get(codeList) ?? [] },
    ]),
  );
}

function changesOfProperties(before: CodeRows, after: CodeRows): Change[] {
  const namesOf = ({ properties }: CodeRows, wanted: string): string[] =>
    properties.filter(({ area }) => area === wanted).map(({ property }) => property);
  const areas = new Set([...after.properties, ...before.properties].map(({ area }) => area));
  return [...areas]
    .sort()
    .reverse()
    .flatMap((area) =>
      compareLists(namesOf(before, area), namesOf(after, area)).map((change): Change => ({
        ...change,
        what: 'property',
        area,
      })),
    );
}

/** In the properties that both have. */
function changesOfValues(before: Lists, after: Lists): Change[] {
  const sorted = [...after].sort(([, one], [, other]) =>
    one.area < other.area ? 1 : one.area > other.area ? -1 : 0,
  );
  return sorted.flatMap(([key, { area, property, values }]) => {
    const former = before.get(key)?.values;
    return former === undefined || former.join('\0') === values.join('\0')
      ? []
      : compareLists(former, values).map((change): Change => ({
          ...change,
          what: 'value',
          area,
          property,
        }));
  });
}

/** Scheduled changes after `now`, keyed by a text that identifies each. */
function scheduleOf(rows: CodeRows, now: number): Map<string, Change> {
  const isAhead = (time: number): boolean => time > now && time < Infinity;
  const records = new Map<number, { ending: CodeRecord[]; beginning: CodeRecord[] }>();
  const at = (time: number) => {
    const moment = records.get(time) ?? { ending: [], beginning: [] };
    records.set(time, moment);
    return moment;
  };
  for (const record of rows.records) {
    const { validFrom, validUntil } = record.validity;
    if (isAhead(validFrom)) at(validFrom).beginning.push(record);
    if (isAhead(validUntil)) at(validUntil).ending.push(record);
  }
  const times = new Set(
    rows.values.flatMap((row) => [row.validFrom, row.validUntil]).filter(isAhead),
  );
  const schedule = new Map<string, Change>();
  for (const time of new Set([...times, ...records.keys()])) {
    const { ending = [], beginning = [] } = records.get(time) ?? {};
    const changes = [
      ...(times.has(time)
        ? changesOfValues(listsAt(rows, time - JUST_BEFORE), listsAt(rows, time))
        : []),
      ...changesOfRecords(byKey(ending), byKey(beginning)),
    ];
    for (const change of changes) {
      const moment = new Date(time).toISOString();
      const hidden = change.kind === 'removed' ? ['description'] : ['after'];
      const key = Object.entries(change).filter(([name]) => !hidden.includes(name));
      schedule.set(JSON.stringify([moment, key]), { ...change, at: moment });
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
  const described = ({ json }: CodeRecord) =>
    JSON.parse(json) as Pick<RecordChange, 'codeType' | 'code' | 'description'>;
  const changes: Change[] = [];
  const common = { what: 'record', area: 'order-scheduling' } as const;
  for (const [key, record] of after) {
    const former = before.get(key);
    if (!former) changes.push({ kind: 'added', ...common, ...described(record) });
    else if (former.json !== record.json)
      changes.push({
        kind: 'changed',
        ...common,
        ...described(record),
        former: described(former).description,
      });
  }
  for (const [key, record] of before)
    if (!after.has(key)) changes.push({ kind: 'removed', ...common, ...described(record) });
  return changes;
}
