/** A map that makes room by dropping the entry that was added first. What was dropped is worked out anew by whoever needs it. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  constructor(private readonly capacity: number) {
    super();
  }

  override set(key: Key, value: Value): this {
    if (this.size >= this.capacity && !this.has(key)) this.delete(this.keys().next().value as Key);
    return super.set(key, value);
  }
}
