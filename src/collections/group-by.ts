/** Items by their keys, both in the order of the items, as `Map.groupBy` does from Node.js 21 on. */
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
