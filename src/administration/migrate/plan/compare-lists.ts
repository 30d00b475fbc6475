export interface ListChange {
  readonly kind: 'added' | 'removed' | 'renamed' | 'moved';
  readonly name: string;
  /** The new name of a renamed entry. */
  readonly to?: string;
  /** What an added or moved entry stands behind; null at the beginning. Absent where it only makes the list longer. */
  readonly after?: string | null;
}

/**
 * The longest increasing run of names counts as unmoved. Other names that are in both lists were moved. Between two unmoved names, removed
 * and added names count as renamed if there are equally many.
 */
export function compareLists(before: readonly string[], after: readonly string[]): ListChange[] {
  const [former, present] = [new Set(before), new Set(after)];
  const still = new Set(longestCommonOrder(before, after));
  const [gone, come] = [gaps(before, still, present), gaps(after, still, former)];
  const places = new Map(after.map((name, at) => [name, at]));
  const end = Math.max(-1, ...[...still].map((name) => places.get(name) ?? -1));
  const placed = (kind: 'added' | 'moved', name: string): ListChange => {
    const place = places.get(name) ?? 0;
    return place > end && kind === 'added'
      ? { kind, name }
      : { kind, name, after: after[place - 1] ?? null };
  };
  const changes = gone.flatMap((names, at): ListChange[] => {
    const others = come[at] ?? [];
    if (names.length === others.length)
      return names.map((name, index) => ({ kind: 'renamed', name, to: others[index] as string }));
    return [
      ...names.map((name): ListChange => ({ kind: 'removed', name })),
      ...others.map((name) => placed('added', name)),
    ];
  });
  const moved = after.filter((name) => former.has(name) && !still.has(name));
  return [...changes, ...moved.map((name) => placed('moved', name))];
}

/** The longest run of names of `after` whose places in `before` increase: the tails of the runs of each length are kept in order. */
function longestCommonOrder(before: readonly string[], after: readonly string[]): string[] {
  const places = new Map(before.map((name, at) => [name, at]));
  const placeOf = (name: string | undefined): number => places.get(name ?? '') ?? -1;
  const tails: string[] = [];
  const former = new Map<string, string | undefined>();
  for (const name of after) {
    if (!places.has(name)) continue;
    let [low, high] = [0, tails.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (placeOf(tails[middle]) < placeOf(name)) low = middle + 1;
      else high = middle;
    }
    former.set(name, tails[low - 1]);
    tails[low] = name;
  }
  const run: string[] = [];
  for (let name = tails.at(-1); name !== undefined; name = former.get(name)) run.push(name);
  return run;
}

/** The names before, between and after the unmoved ones, without names that are in both lists. */
function gaps(
  names: readonly string[],
  still: ReadonlySet<string>,
  other: ReadonlySet<string>,
): string[][] {
  const found: string[][] = [[]];
  for (const name of names) {
    if (still.has(name)) found.push([]);
    else if (!other.has(name)) found.at(-1)?.push(name);
  }
  return found;
}
