import type { Row } from './list-tables.js';

/**
 * The values of one list in the order of a file, with positions. What the file lacks stays behind the value that it
 * stands behind now, so a file that names one new value appends it.
 * @param former the values that stay, as they are now, in their order
 * @param wanted the values that the file names, in the order of its lines
 */
export function arrangeValues(former: readonly Row[], wanted: readonly Row[]): Row[] {
  const order = [...wanted];
  for (const [index, row] of former.entries()) {
    if (indexOfValue(wanted, row) >= 0) continue;
    const neighbour = former[index - 1];
    const place = neighbour ? indexOfValue(order, neighbour) + 1 : 0;
    order.splice(place, 0, row);
  }
  const positions = positionsFor(order.length, former);
  return order.map((row, index) => ({ ...row, position: positions[index] ?? null }));
}

function indexOfValue(rows: readonly Row[], wanted: Row): number {
  return rows.findIndex(({ value }) => value === wanted['value']);
}

/** The present positions, which keeps most rows as they are, and as many more behind them as are needed. */
function positionsFor(count: number, former: readonly Row[]): string[] {
  const positions = former.map(({ position }) => String(position));
  let last = Number(positions.at(-1) ?? 0);
  while (positions.length < count) {
    last += 1;
    positions.push(String(last));
  }
  return positions;
}
