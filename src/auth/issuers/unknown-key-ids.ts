/** How many are remembered; the oldest one is forgotten. */
const MOST = 1_000;

/** How many fetches had begun when a key id that the key set lacks was first seen. */
export class UnknownKeyIds {
  private readonly seen = new Map<string, number>();

  /** @param fetches noted for a key id that was not seen before */
  firstSeen(kid: string, fetches: number): number {
    const before = this.seen.get(kid);
    if (before !== undefined) return before;
    if (this.seen.size >= MOST) this.seen.delete(this.seen.keys().next().value as string);
    this.seen.set(kid, fetches);
    return fetches;
  }
}
