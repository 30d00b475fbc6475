import { isInForce } from '../rows.js';
import type { OrderedChange, OrderedRecords } from './ordered-records.js';
import { valuesOf } from './record-key.js';
import { type RecordChange, RecordPage } from './record-page.js';

/**
 * Communication code records in one order, at a moment: those in force, with their ends, and those that begin later. It is immutable: for
 * another moment or after a change there is a new one, which shares the unchanged pages.
 */
export class DatedRecords {
  constructor(
    readonly inForce: OrderedRecords,
    readonly toCome: OrderedRecords,
  ) {}

  /** The next moment at which one of them begins or ends, or Infinity. */
  get nextMoment(): number {
    return Math.min(this.inForce.nextMoment, this.toCome.nextMoment);
  }

  /** The records at a later moment. */
  *at(moment: number): Generator<void, DatedRecords> {
    return new DatedRecords(
      yield* this.inForce.with(this.toCome.begunBy(moment), moment),
      yield* this.toCome.with([], moment),
    );
  }

  /** The records after `changes`, at the same moment. */
  *with(changes: readonly RecordChange[], moment: number): Generator<void, DatedRecords> {
    const sorted = changes
      .map((change) => ({ ...change, values: valuesOf(change.key, this.inForce.fields) }))
      .sort((a, b) => compareValues(a.values, b.values));
    const page = RecordPage.of(
      sorted.map(({ json }) => json ?? Buffer.of()),
      Float64Array.from(sorted.flatMap(({ from, until }) => [from, until])),
    );
    const where = (belongs: (change: RecordChange) => boolean): OrderedChange[] =>
      sorted.map((change, at) => ({
        values: change.values,
        record: change.json && belongs(change) ? { page, from: at, to: at + 1 } : undefined,
      }));
    return new DatedRecords(
      yield* this.inForce.with(
        where((change) => isInForce(change, moment)),
        moment,
      ),
      yield* this.toCome.with(
        where(({ from }) => from > moment),
        moment,
      ),
    );
  }
}

const compareValues = (a: readonly Buffer[], b: readonly Buffer[]): number =>
  Buffer.compare(a[0] as Buffer, b[0] as Buffer) || Buffer.compare(a[1] as Buffer, b[1] as Buffer);
