import type { Validity } from '../database/entities/validity.js';
import type { CodeRows } from './code-rows.js';

/** The moments at which a code begins or ends, in milliseconds since the epoch, in their order. */
export class Moments {
  private readonly all: Float64Array;

  constructor({ values, records }: CodeRows) {
    const all = new Set<number>();
    const add = ({ validFrom, validUntil }: Validity): void => {
      if (validFrom !== -Infinity) all.add(validFrom);
      if (validUntil !== Infinity) all.add(validUntil);
    };
    values.forEach(add);
    for (const { validity } of records) add(validity);
    this.all = Float64Array.from(all).sort();
  }

  /** The first moment after another one, or Infinity. */
  after(moment: number): number {
    return this.all[this.passedBy(moment)] ?? Infinity;
  }

  /** Whether none lies between two moments. */
  areTogether(one: number, other: number): boolean {
    return this.passedBy(one) === this.passedBy(other);
  }

  /** How many have come by a moment. */
  private passedBy(moment: number): number {
    let [low, high] = [0, this.all.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.all[middle] as number) > moment) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
