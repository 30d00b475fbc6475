import type { Answers } from './answers.js';

/** One difference that callers see. `kind` tells whether it can break them: all but `added` and `changed` do. */
export interface Change {
  readonly kind: 'added' | 'removed' | 'renamed' | 'moved' | 'changed';
  readonly what: 'property' | 'value' | 'record';
  /** The area, or `order-scheduling`. */
  readonly area: string;
  readonly property?: string;
  readonly name: string;
  /** The new name, of what was renamed. */
  readonly to?: string;
}

export function compareAnswers(before: Answers, after: Answers): Change[] {
  const changes = Object.keys(after.areas).flatMap((area) => {
    const [old, now] = [before.areas[area] ?? [], after.areas[area] ?? []];
    const properties = compareLists(
      old.map(({ property }) => property),
      now.map(({ property }) => property),
    ).map((change): Change => ({ ...change, what: 'property', area }));
    const values = now.flatMap(({ property, values: nowValues }) => {
      const oldValues = old.find((candidate) => candidate.property === property)?.values;
      return oldValues
        ? compareLists(oldValues, nowValues).map((change): Change => ({
            ...change,
            what: 'value',
            area,
            property,
          }))
        : [];
    });
    return [...properties, ...values];
  });
  return [...changes, ...compareRecords(before, after)];
}

type ListChange = Pick<Change, 'kind' | 'name' | 'to'>;

/**
 * The longest run of names that stay in order is what stands still: whatever else stays was moved, and between two that stand still
 * what went and what came, where equally many, was renamed.
 */
function compareLists(before: readonly string[], after: readonly string[]): ListChange[] {
  const still = longestCommonOrder(before, after);
  const [gone, come] = [gaps(before, still, after), gaps(after, still, before)];
  const changes = gone.flatMap((names, at): ListChange[] => {
    const others = come[at] ?? [];
    if (names.length === others.length)
      return names.map((name, index) => ({ kind: 'renamed', name, to: others[index] as string }));
    return [
      ...names.map((name): ListChange => ({ kind: 'removed', name })),
      ...others.map((name): ListChange => ({ kind: 'added', name })),
    ];
  });
  const moved = after.filter((name) => before.includes(name) && !still.includes(name));
  return [...changes, ...moved.map((name): ListChange => ({ kind: 'moved', name }))];
}

function longestCommonOrder(
  before: readonly string[],
  after: readonly string[],
): readonly string[] {
  const best: string[][] = []; // for each name of `after`, the longest run that ends with it
  for (const name of after) {
    const runs = best.filter((run) => before.indexOf(run.at(-1) as string) < before.indexOf(name));
    best.push(
      before.includes(name)
        ? [
            ...runs.reduce((longest, run) => (run.length > longest.length ? run : longest), []),
            name,
          ]
        : [],
    );
  }
  return best.reduce((longest, run) => (run.length > longest.length ? run : longest), []);
}

/** The names before, between and behind those that stand still, without those that the other list holds too. */
function gaps(
  names: readonly string[],
  still: readonly string[],
  other: readonly string[],
): string[][] {
  const found: string[][] = [[]];
  for (const name of names) {
    if (still.includes(name)) found.push([]);
    else if (!other.includes(name)) found.at(-1)?.push(name);
  }
  return found;
}

function compareRecords(before: Answers, after: Answers): Change[] {
  const nameOf = ({ codeType, code }: Answers['records'][number]): string => `${codeType} ${code}`;
  const old = new Map(
    before.records.map((record) => [JSON.stringify([record.codeType, record.code]), record]),
  );
  const changes: Change[] = [];
  const common = { what: 'record', area: 'order-scheduling' } as const;
  for (const record of after.records) {
    const key = JSON.stringify([record.codeType, record.code]);
    const former = old.get(key);
    old.delete(key);
    if (!former) changes.push({ ...common, kind: 'added', name: nameOf(record) });
    else if (former.description !== record.description)
      changes.push({ ...common, kind: 'changed', name: nameOf(record) });
  }
  return [
    ...changes,
    ...[...old.values()].map((record): Change => ({
      ...common,
      kind: 'removed',
      name: nameOf(record),
    })),
  ];
}
