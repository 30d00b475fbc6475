/** Groups items as Map.groupBy does, which Node.js 20 lacks. Keys and items keep the order of the input. */
export function groupBy<Key, Item>(items: Iterable<Item>, toKey: (item: Item) => Key) {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = toKey(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}
