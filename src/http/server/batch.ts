// Requests that arrive in one turn of the event loop are handled together at its end. Each step then runs for many in a row, while its code,
// the kernel's among it, is still in the caches of the processor. One at a time, each step finds the caches full of the others.

/** Requests handled together, at most: what they need must fit into the caches as well, and nobody may wait long for the rest. */
const MOST = 16;

export class Batch<Item> {
  private items: Item[] = [];

  constructor(private readonly handle: (item: Item) => void) {}

  add(item: Item): void {
    const count = this.items.push(item);
    if (count === 1) setImmediate(this.run);
    else if (count === MOST) this.run();
  }

  private readonly run = (): void => {
    const { items } = this;
    this.items = [];
    for (const item of items) this.handle(item);
  };
}
