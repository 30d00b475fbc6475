import type { KeyField } from './record-key.js';
import { compareKey } from './record-key.js';

/**
 * Communication code records as JSON, one behind the other with commas between, sorted by `fields`: any run of records is one view of the
 * buffer.
 */
export class OrderedRecords {
  /**
   * @param json the records' JSON, separated by commas
   * @param ends where each record ends in `json`, without its comma
   * @param fields the order of the records: `['codeType', 'code']` or `['code', 'codeType']`
   */
  constructor(
    private readonly json: Buffer,
    private readonly ends: Uint32Array,
    private readonly fields: readonly [KeyField, KeyField],
  ) {}

  get count(): number {
    return this.ends.length;
  }

  /** First and last-plus-one index of the records whose leading fields are `values`, found by two binary searches. */
  range(...values: readonly Buffer[]): [number, number] {
    const from = this.firstWhere(0, (order) => order >= 0, values);
    return [from, this.firstWhere(from, (order) => order > 0, values)];
  }

  /** The bytes of the records `from` up to, not including, `to`. */
  slice(from: number, to: number): Buffer {
    return this.json.subarray(this.startOf(from), to === 0 ? 0 : this.ends[to - 1]);
  }

  private startOf(index: number): number {
    return index === 0 ? 0 : (this.ends[index - 1] as number) + 1;
  }

  private firstWhere(from: number, passes: (order: number) => boolean, values: readonly Buffer[]): number {
    let low = from;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (passes(this.compare(middle, values))) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  private compare(index: number, values: readonly Buffer[]): number {
    const start = this.startOf(index);
    for (let at = 0; at < values.length; at++) {
      const order = compareKey(this.json, start, this.fields[at] as KeyField, values[at] as Buffer);
      if (order !== 0) return order;
    }
    return 0;
  }
}
