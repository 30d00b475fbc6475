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
      return oldValues ? compareLists(oldValues, nowValues).map((change): Change => ({ ...change, what: 'value', area, property })) : [];
    });
    return [...properties, ...values];
  });
  return [...changes, ...compareRecords(before, after)];
}

type ListChange = Pick<Change, 'kind' | 'name' | 'to'>;

/** Where one name went and another came at the same place, it was renamed. What changed its rank among those that stay was moved. */
function compareLists(before: readonly string[], after: readonly string[]): ListChange[] {
  const gone = before.filter((name) => !after.includes(name));
  const come = after.filter((name) => !before.includes(name));
  const renamed = new Map(
    gone.flatMap((name) => (come.includes(after[before.indexOf(name)] ?? '') ? [[name, after[before.indexOf(name)] as string]] : [])),
  );
  const taken = new Set(renamed.values());
  const staying = before.filter((name) => after.includes(name));
  const now = after.filter((name) => before.includes(name));
  return [
    ...[...renamed].map(([name, to]): ListChange => ({ kind: 'renamed', name, to })),
    ...gone.filter((name) => !renamed.has(name)).map((name): ListChange => ({ kind: 'removed', name })),
    ...come.filter((name) => !taken.has(name)).map((name): ListChange => ({ kind: 'added', name })),
    ...staying.filter((name, at) => now[at] !== name).map((name): ListChange => ({ kind: 'moved', name })),
  ];
}

function compareRecords(before: Answers, after: Answers): Change[] {
  const nameOf = ({ codeType, code }: Answers['records'][number]): string => `${codeType} ${code}`;
  const old = new Map(before.records.map((record) => [JSON.stringify([record.codeType, record.code]), record]));
  const changes: Change[] = [];
  const common = { what: 'record', area: 'order-scheduling' } as const;
  for (const record of after.records) {
    const key = JSON.stringify([record.codeType, record.code]);
    const former = old.get(key);
    old.delete(key);
    if (!former) changes.push({ ...common, kind: 'added', name: nameOf(record) });
    else if (former.description !== record.description) changes.push({ ...common, kind: 'changed', name: nameOf(record) });
  }
  return [...changes, ...[...old.values()].map((record): Change => ({ ...common, kind: 'removed', name: nameOf(record) }))];
}
