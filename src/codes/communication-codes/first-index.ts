/** The first index from `low` and below `count` that passes, found by binary search, or `count`. All indexes after one that passes must pass too. */
export function firstIndex(count: number, passes: (index: number) => boolean, low = 0): number {
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (passes(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
