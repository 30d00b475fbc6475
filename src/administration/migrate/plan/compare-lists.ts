export interface ListChange {
  readonly kind: 'added' | 'removed' | 'renamed' | 'moved';
  readonly name: string;
  /** The new name of a renamed entry. */
  readonly to?: string;
}

/**
 * The longest increasing run of names counts as unmoved. Other names that are in both lists were moved. Between two unmoved names, removed
 * and added names count as renamed if there are equally many.
 */
export function compareLists(before: readonly string[], after: readonly string[]): ListChange[] {
  const [former, present] = [new Set(before), new Set(after)];
  const still = new Set(longestCommonOrder(before, after));
  const [gone, come] = [gaps(before, still, present), gaps(after, still, former)];
  const changes = gone.flatMap((names, at): ListChange[] => {
    const others = come[at] ?? [];
    if (names.length === others.length)
      return names.map((name, index) => ({ kind: 'renamed', name, to: others[index] as string }));
    return [
      ...names.map((name): ListChange => ({ kind: 'removed', name })),
      ...others.map((name): ListChange => ({ kind: 'added', name })),
    ];
  });
  const moved = after.filter((name) => former.has(name) && !still.has(name));
  return [...changes, ...moved.map((name): ListChange => ({ kind: 'moved', name }))];
}

/** The longest run of names of `after` whose positions in `before` increase, found from the end. */
function longestCommonOrder(before: readonly string[], after: readonly string[]): string[] {
  const places = new Map(before.map((name, at) => [name, at]));
  const common = after.filter((name) => places.has(name)).toReversed();
  const placeOf = (at: number | undefined): number => places.get(common[at ?? 0] ?? '') ?? 0;
  const heads: number[] = []; // by length of a run: the start of the run that begins latest
  const next: (number | undefined)[] = [];
  for (const at of common.keys()) {
    let [low, high] = [0, heads.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (placeOf(heads[middle]) > placeOf(at)) low = middle + 1;
      else high = middle;
    }
    next.push(heads[low - 1]);
    heads[low] = at;
  }
  const run: string[] = [];
  for (let at = heads.at(-1); at !== undefined; at = next[at]) run.push(common[at] ?? '');
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
