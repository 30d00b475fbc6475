/** A cache in a map of bounded size. A new entry replaces the oldest one; the caller computes a missing value again. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  constructor(private readonly capacity: number) {
    super();
  }

  override set(key: Key, value: Value): this {
    if (this.size >= this.capacity && !this.has(key)) this.delete(this.keys().next().value as Key);
    return super.set(key, value);
  }
}
