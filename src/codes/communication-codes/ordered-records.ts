import type { Fields } from './record-key.js';
import { RecordPage, type RecordRun } from './record-page.js';
import { addLasting, addRun, pagesOf } from './record-run.js';

/** The new record for a key: one record of a page, or none. */
export interface OrderedChange {
  /** The key, in the order of the records. */
  readonly values: readonly Buffer[];
  readonly record: RecordRun | undefined;
}

/** Communication code records sorted by `fields`. A run of records is a list of views of their pages. */
export class OrderedRecords {
  /** The number of the first record of each page, and the number of all records. */
  private readonly numbers: readonly number[];

  /**
   * @param pages with at least one record each
   * @param fields `['codeType', 'code']` or `['code', 'codeType']`
   */
  constructor(
    readonly pages: readonly RecordPage[],
    readonly fields: Fields,
  ) {
    let number = 0;
    this.numbers = [0, ...pages.map(({ count }) => (number += count))];
  }

  get count(): number {
    return this.numbers.at(-1) as number;
  }

  /** Size of all records with their commas, in bytes. */
  get bytes(): number {
    return this.pages.reduce((sum, { json }) => sum + json.length, 0);
  }

  /** The next moment at which one of them begins or ends, or Infinity. */
  get nextMoment(): number {
    return this.pages.reduce((first, { nextMoment }) => Math.min(first, nextMoment), Infinity);
  }

  /** The number of the first record whose leading fields are `values`, and the number after the last one. */
  range(...values: readonly Buffer[]): [number, number] {
    return [
      this.firstWhere((order) => order >= 0, values),
      this.firstWhere((order) => order > 0, values),
    ];
  }

  /** The record with a number. */
  runOf(number: number): RecordRun {
    const at = this.pageOf(number);
    const from = number - (this.numbers[at] as number);
    return { page: this.pages[at] as RecordPage, from, to: from + 1 };
  }

  /** The bytes of the records from number `from` up to, not including, `to`, separated by commas. There is at least one. */
  slice(from: number, to: number): Buffer[] {
    const first = this.pageOf(from);
    const last = this.pageOf(to - 1);
    return this.pages.slice(first, last + 1).map((page, index) => {
      const number = this.numbers[first + index] as number;
      return page.json.subarray(
        page.startOf(Math.max(0, from - number)),
        number + page.count < to ? undefined : page.endOf(to - 1 - number),
      );
    });
  }

  /** Of records that all begin later: those that are in force at a moment. */
  *begunBy(moment: number): Generator<OrderedChange> {
    for (const page of this.pages) {
      if (page.nextMoment > moment) continue;
      for (let index = 0; index < page.count; index++) {
        const { from, until } = page.validityOf(index);
        if (from > moment || until <= moment) continue;
        const record = { page, from: index, to: index + 1 };
        yield { values: page.valuesOf(index, this.fields), record };
      }
    }
  }

  /**
   * The records after `changes`, without those that begin or end by `moment`: these move to another list. Pages without changes are shared.
   * It yields now and then, so that the event loop can handle requests.
   * @param changes in the order of the records
   */
  *with(changes: Iterable<OrderedChange>, moment: number): Generator<void, OrderedRecords> {
    const made: RecordPage[] = [];
    const coming = changes[Symbol.iterator]();
    let change = coming.next();
    const pages = this.pages.length > 0 ? this.pages : [RecordPage.of([])];
    for (const page of pages) {
      const isHere = ({ values }: OrderedChange): boolean =>
        page === pages.at(-1) || page.compare(page.count - 1, this.fields, values) >= 0;
      const runs: RecordRun[] = [];
      let kept = 0;
      for (; !change.done && isHere(change.value); change = coming.next()) {
        const { values, record } = change.value;
        const at = firstIndex(
          page.count,
          (index) => page.compare(index, this.fields, values) >= 0,
          kept,
        );
        addLasting(runs, { page, from: kept, to: at }, moment);
        if (record) addRun(runs, record);
        const isThere = at < page.count && page.compare(at, this.fields, values) === 0;
        kept = isThere ? at + 1 : at;
        yield;
      }
      addLasting(runs, { page, from: kept, to: page.count }, moment);
      if (runs.length === 1 && runs[0]?.page === page && runs[0].to - runs[0].from === page.count)
        made.push(page);
      else
        for (const copied of pagesOf(runs, moment)) {
          made.push(copied);
          yield;
        }
    }
    return made.length === this.pages.length && made.every((page, at) => page === this.pages[at])
      ? this
      : new OrderedRecords(made, this.fields);
  }

  private pageOf(number: number): number {
    return firstIndex(this.pages.length, (at) => (this.numbers[at + 1] as number) > number);
  }

  private firstWhere(passes: (order: number) => boolean, values: readonly Buffer[]): number {
    const isIn = (page: RecordPage, index: number): boolean =>
      passes(page.compare(index, this.fields, values));
    const at = firstIndex(this.pages.length, (number) => {
      const page = this.pages[number] as RecordPage;
      return isIn(page, page.count - 1);
    });
    const page = this.pages[at];
    const before = page ? firstIndex(page.count, (index) => isIn(page, index)) : 0;
    return (this.numbers[at] as number) + before;
  }
}

/** The first index from `low` and below `count` that passes, found by binary search, or `count`. All indexes after one that passes must pass too. */
function firstIndex(count: number, passes: (index: number) => boolean, low = 0): number {
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (passes(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
