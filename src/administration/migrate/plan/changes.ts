import { isInForce } from './validity.js';
import { type ListChange, compareLists } from './compare-lists.js';
import { type Contents, type Record, valuesAt } from './contents.js';

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
};

/** In milliseconds, less than the resolution of PostgreSQL's timestamps. */
const JUST_BEFORE = 0.0005;

/** What callers see change when `after` takes the place of `before`: at once, and at each later moment. */
export function changesBetween(before: Contents, after: Contents): Change[] {
  const { now } = after;
  const [former, present] = [scheduleOf(before, now), scheduleOf(after, now)];
  const scheduled = [
    ...[...present].flatMap(([key, change]) => (former.has(key) ? [] : [change])),
    ...[...former].flatMap(([key, change]): Change[] =>
      present.has(key) ? [] : [{ ...change, withdrawn: true }],
    ),
  ];
  return [
    ...changesOfProperties(before, after),
    ...changesOfValues(before, now, after, now),
    ...changesOfRecords(recordsAt(before, now), recordsAt(after, now)),
    ...scheduled.toSorted((a, b) => Date.parse(a.at ?? '') - Date.parse(b.at ?? '')),
  ];
}

interface Moment {
  readonly lists: Set<string>;
  readonly ending: Record[];
  readonly beginning: Record[];
}

/** Scheduled changes after `now`, keyed by a text that identifies each. */
function scheduleOf(contents: Contents, now: number): Map<string, Change> {
  const moments = new Map<number, Moment>();
  const momentAt = (time: number): Moment | undefined => {
    if (!Number.isFinite(time) || time <= now) return undefined;
    const moment = moments.get(time) ?? { lists: new Set(), ending: [], beginning: [] };
    moments.set(time, moment);
    return moment;
  };
  for (const record of contents.records) {
    momentAt(record.from)?.beginning.push(record);
    momentAt(record.until)?.ending.push(record);
  }
  for (const [list, values] of contents.values)
    for (const time of values.flatMap(({ from, until }) => [from, until]))
      momentAt(time)?.lists.add(list);
  const schedule = new Map<string, Change>();
  for (const [time, { lists, ending, beginning }] of moments) {
    const at = new Date(time).toISOString();
    const changes = [
      ...changesOfValues(contents, time - JUST_BEFORE, contents, time, lists),
      ...changesOfRecords(byKey(ending), byKey(beginning)),
    ];
    for (const change of changes) {
      const { former: _former, description: _description, ...key } = change as RecordChange;
      schedule.set(JSON.stringify([at, change.kind === 'removed' ? key : change]), {
        ...change,
        at,
      });
    }
  }
  return schedule;
}

function changesOfProperties(before: Contents, after: Contents): Change[] {
  const areas = new Set([...before.properties.keys(), ...after.properties.keys()]);
  return [...areas].flatMap((area) =>
    compareLists(
      [...(before.properties.get(area)?.keys() ?? [])],
      [...(after.properties.get(area)?.keys() ?? [])],
    ).map((change): Change => ({ ...change, what: 'property', area })),
  );
}

/** In the properties that both have; if `lists` is given, only in those. */
function changesOfValues(
  before: Contents,
  formerly: number,
  after: Contents,
  presently: number,
  lists?: ReadonlySet<string>,
): Change[] {
  const changes: Change[] = [];
  for (const [area, properties] of after.properties)
    for (const [property, list] of properties) {
      const former = before.properties.get(area)?.get(property);
      if (former === undefined || (lists && !lists.has(list))) continue;
      const [old, now] = [valuesAt(before, former, formerly), valuesAt(after, list, presently)];
      for (const change of compareLists(old, now))
        changes.push({ ...change, what: 'value', area, property });
    }
  return changes;
}

const byKey = (records: readonly Record[] = []): Map<string, Record> =>
  new Map(records.map((record) => [`${record.codeType}\0${record.code}`, record]));

const recordsAt = ({ records }: Contents, moment: number): Map<string, Record> =>
  byKey(records.filter((record) => isInForce(record, moment)));

function changesOfRecords(
  before: ReadonlyMap<string, Record>,
  after: ReadonlyMap<string, Record>,
): Change[] {
  const changes: Change[] = [];
  const note = (kind: 'added' | 'removed' | 'changed', record: Record, former?: string): void => {
    const { codeType, code, description } = record;
    const area = 'order-scheduling';
    const change = { kind, what: 'record', area, codeType, code, description } as const;
    changes.push(former === undefined ? change : { ...change, former });
  };
  for (const [key, record] of after) {
    const former = before.get(key);
    if (!former) note('added', record);
    else if (former.description !== record.description) note('changed', record, former.description);
  }
  for (const [key, record] of before) if (!after.has(key)) note('removed', record);
  return changes;
}
